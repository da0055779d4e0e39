// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/jvm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace lagwatch::stack::jvm {
namespace {

// Of a class loader's methods, those that load a class while they keep its lock.
bool IsClassLoader(std::string_view function) {
  return function.ends_with(".loadClass") || function.ends_with(".loadClassOrNull") ||
         function.ends_with(".findClass") || function.starts_with("java.lang.ClassLoader.");
}

}  // namespace

void Jvm::LookAt(const LoadedModule& loaded, CodeMap* code) {
  // The reader knows the frames of processors whose calls push the return address.
  if constexpr (Registers::kReturnAddress != Registers::kProgramCounter) return;
  if (found_ != nullptr || loaded.exports.Find("gHotSpotVMStructs") == 0) return;
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  std::construct_at(&found[0]);
  bool is_hotspot = false;
  if (!found[0].reader.Attach(memory_, loaded.exports, &is_hotspot)) {
    if (is_hotspot)
      std::snprintf(unreadable_, sizeof unreadable_, "java %d", found[0].reader.major_version());
    return;
  }
  found[0].module = loaded.index;
  found[0].language = code->AddLanguage("[java]");
  if (found[0].language != kNoModule) found_ = std::move(found);
}

void Jvm::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr) return;
  Found& found = found_[0];
  const auto may_be_java = [&](const Frame& frame) {
    return frame.module == found.module || frame.module == kNoModule;
  };
  if (stack->frame_count != 0 && std::ranges::none_of(stack->view(), may_be_java)) return;
  if (!found.reader.Read(thread.tid, thread.raw, &code->script_functions(), &found.frames)) return;
  found.parts.count = 0;
  found.parts.frame_count = 0;
  if (thread.raw != nullptr) UnwindCallers(*thread.raw, code, &found);
  Splice(found.frames, found.parts, found.module, found.language, stack);
}

std::optional<ScriptLock> Jvm::FindLock(int tid, const FutexWait& futex) {
  if (found_ == nullptr) return std::nullopt;
  const Waits::Wait wait = found_[0].reader.waits().Find(tid, futex);
  if (wait.owner_tid == 0) return std::nullopt;
  return ScriptLock{.address = wait.address,
                    .turn = 0,
                    .owner_tid = wait.owner_tid,
                    .kind = wait.kind,
                    .may_time_out = wait.is_parked};
}

policies::Doing Jvm::FindWait(int tid, const FutexWait& futex, CodeMap* code) {
  using policies::Doing;
  if (found_ == nullptr || !found_[0].reader.HasThread(tid)) return Doing::kUnknown;
  Reader& reader = found_[0].reader;
  if (reader.waits().IsCollecting()) return Doing::kGc;
  const Waits::Wait wait = reader.waits().Find(tid, futex);
  if (wait.kind == policies::LockKind::kSafepoint) return Doing::kSafepoint;
  if (wait.kind == policies::LockKind::kCompilation) return Doing::kJit;
  if (wait.kind == policies::LockKind::kClass) return Doing::kClassLoading;
  const auto function = reader.InnermostFunction(tid, &code->script_functions(), &found_[0].frames);
  if (wait.owner_tid != 0) return IsClassLoader(function) ? Doing::kClassLoading : Doing::kUnknown;
  return function.starts_with("java.lang.Thread.sleep") ? Doing::kSleep : Doing::kUnknown;
}

const char* Jvm::GcCause() {
  gc_cause_[0] = '\0';
  if (found_ != nullptr) found_[0].reader.waits().ReadGcCause(gc_cause_, sizeof gc_cause_);
  return gc_cause_;
}

void Jvm::UnwindCallers(const RawStack& raw, CodeMap* code, Found* found) {
  StackParts& parts = found->parts;
  const uint64_t end = raw.address + raw.size_bytes;
  for (const Reader::NativeCaller& caller : found->reader.callers()) {
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

}  // namespace lagwatch::stack::jvm
