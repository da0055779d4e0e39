// SPDX-License-Identifier: Apache-2.0
// HotSpot in a process: the JVM of OpenJDK and of what is built from it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/jvm/reader.h"

namespace lagwatch::stack {
namespace jvm {
namespace {

// Native frames between two runs of Java frames.
struct NativePart {
  size_t after;  // so many Java frames
  uint32_t begin;
  uint32_t end;
};
// `frames` of all parts one after the other.
struct StackParts {
  size_t count = 0;
  uint32_t frame_count = 0;
  std::array<NativePart, 16> parts;
  std::array<Frame, kMaxFrames> frames;
};

struct FoundJvm {
  JvmReader reader;
  uint32_t module;    // the JVM's own
  uint32_t language;  // of Java frames
  ScriptFrames frames;
  RawStack part;  // of the thread, from a native caller on
  Stack natives;
  StackParts parts;
};

// Of a class loader's methods, those that load a class while they keep its lock.
bool IsClassLoader(std::string_view function) {
  return function.ends_with(".loadClass") || function.ends_with(".loadClassOrNull") ||
         function.ends_with(".findClass") || function.starts_with("java.lang.ClassLoader.");
}

// Unwinds the native frames between the runs of Java frames.
void UnwindCallers(const RawStack& raw, CodeMap* code, FoundJvm* found) {
  StackParts& parts = found->parts;
  const uint64_t end = raw.address + raw.size_bytes;
  for (const JvmReader::NativeCaller& caller : found->reader.callers()) {
    if (caller.sp < raw.address || caller.sp >= end || parts.count == parts.parts.size()) return;
    RawStack& part = found->part;
    part.registers = {};
    const auto set = [&](int number, uint64_t value) {
      part.registers.value[number] = value;
      part.registers.known_mask |= uint64_t{1} << number;
    };
    set(Registers::kProgramCounter, caller.pc);
    set(Registers::kStackPointer, caller.sp);
    set(Registers::kFramePointer, caller.fp);
    set(Registers::kBasePointer, caller.base);
    part.address = caller.sp;
    part.end = raw.end;
    part.size_bytes = std::min<uint64_t>(end - caller.sp, kUsualRawStackBytes);
    std::memcpy(part.bytes, raw.bytes + (caller.sp - raw.address), part.size_bytes);
    found->natives.Clear();
    code->Unwind(part, &found->natives);
    NativePart& added = parts.parts[parts.count];
    added = {.after = caller.frame_count, .begin = parts.frame_count, .end = parts.frame_count};
    bool is_whole = false;  // up to the call by Java code
    for (const Frame& frame : found->natives.view()) {
      is_whole = frame.module == kNoModule;
      if (is_whole || added.end == parts.frames.size()) break;
      if (frame.module != found->module) parts.frames[added.end++] = frame;
    }
    if (!is_whole) continue;
    parts.frame_count = added.end;
    ++parts.count;
  }
}

// Puts Java frames into `stack`: its native frames up to the first one of generated code stay, except
// those of `jvm_module`; Java frames follow, of module `language`, with the native frames of `between` in
// their places, and nothing else. Does nothing without Java frames. Context: any; pure.
void Splice(const ScriptFrames& frames, const StackParts& between, uint32_t jvm_module, uint32_t language,
            Stack* stack) {
  if (frames.count == 0) return;
  uint32_t count = 0;
  for (uint32_t i = 0; i < stack->frame_count && stack->frames[i].module != kNoModule; ++i) {
    if (stack->frames[i].module != jvm_module) stack->frames[count++] = stack->frames[i];
  }
  bool is_cut = frames.is_cut;
  const auto add = [&](const Frame& frame) {
    if (count == kMaxFrames) {
      is_cut = true;
    } else {
      stack->frames[count++] = frame;
    }
  };
  size_t part = 0;
  for (size_t i = 0; i < frames.count; ++i) {
    const ScriptFrame& frame = frames.frames[i];
    add({language, frame.function + frame.line, frame.function});
    for (; part < between.count && between.parts[part].after <= i + 1; ++part) {
      const NativePart& native = between.parts[part];
      for (uint32_t at = native.begin; at < native.end; ++at) add(between.frames[at]);
    }
  }
  stack->frame_count = count;
  stack->completeness = is_cut ? Completeness::kCut : Completeness::kComplete;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
}

class Jvm final : public FoundInterpreter<FoundJvm> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    // The reader knows the frames of processors whose calls push the return address.
    if constexpr (Registers::kReturnAddress != Registers::kProgramCounter) return;
    if (found() != nullptr || loaded.exports.Find("gHotSpotVMStructs") == 0) return;
    Find([&](FoundJvm* found) {
      std::construct_at(found);
      bool is_hotspot = false;
      if (!found->reader.Attach(memory(), loaded.exports, &is_hotspot)) {
        if (is_hotspot)
          std::snprintf(unreadable_, sizeof unreadable_, "java %d", found->reader.major_version());
        return false;
      }
      found->module = loaded.index;
      found->language = code->AddLanguage("[java]");
      return found->language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  std::optional<ScriptLock> FindLock(int tid, const FutexWait& futex) override;
  policies::Doing FindWait(int tid, const FutexWait& futex, CodeMap* code) override;
  const char* GcCause() override;

 private:
  char gc_cause_[64] = "";
};

void Jvm::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (this->found() == nullptr) return;
  FoundJvm& found = *this->found();
  const auto may_be_java = [&](const Frame& frame) {
    return frame.module == found.module || frame.module == kNoModule;
  };
  if (stack->frame_count != 0 && std::ranges::none_of(stack->view(), may_be_java)) return;
  if (!found.reader.Read(thread.tid, thread.raw, &code->script_functions(), &found.frames)) return;
  found.parts.count = 0;
  found.parts.frame_count = 0;
  if (thread.raw != nullptr) UnwindCallers(*thread.raw, code, &found);
  jvm::Splice(found.frames, found.parts, found.module, found.language, stack);
}

std::optional<ScriptLock> Jvm::FindLock(int tid, const FutexWait& futex) {
  if (found() == nullptr) return std::nullopt;
  const Waits::Wait wait = found()->reader.waits().Find(tid, futex);
  if (wait.owner_tid == 0) return std::nullopt;
  return ScriptLock{.address = wait.address,
                    .turn = 0,
                    .owner_tid = wait.owner_tid,
                    .kind = wait.kind,
                    .may_time_out = wait.is_parked};
}

policies::Doing Jvm::FindWait(int tid, const FutexWait& futex, CodeMap* code) {
  using policies::Doing;
  if (found() == nullptr || !found()->reader.HasThread(tid)) return Doing::kUnknown;
  JvmReader& reader = found()->reader;
  if (reader.waits().IsCollecting()) return Doing::kGc;
  const Waits::Wait wait = reader.waits().Find(tid, futex);
  if (wait.kind == policies::LockKind::kSafepoint) return Doing::kSafepoint;
  if (wait.kind == policies::LockKind::kCompilation) return Doing::kJit;
  if (wait.kind == policies::LockKind::kClass) return Doing::kClassLoading;
  const auto function = reader.InnermostFunction(tid, &code->script_functions(), &found()->frames);
  if (wait.owner_tid != 0) return IsClassLoader(function) ? Doing::kClassLoading : Doing::kUnknown;
  return function.starts_with("java.lang.Thread.sleep") ? Doing::kSleep : Doing::kUnknown;
}

const char* Jvm::GcCause() {
  gc_cause_[0] = '\0';
  if (found() != nullptr) found()->reader.waits().ReadGcCause(gc_cause_, sizeof gc_cause_);
  return gc_cause_;
}

}  // namespace
}  // namespace jvm

std::unique_ptr<Interpreter> CreateJvm(Memory* memory) { return std::make_unique<jvm::Jvm>(memory); }

}  // namespace lagwatch::stack
