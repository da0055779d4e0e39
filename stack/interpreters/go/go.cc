// SPDX-License-Identifier: Apache-2.0
// Go in a process: the first of its modules that Go's linker has made. Frames of Go code get their names from
// the program's own table, and a thread that waits for its goroutine gets that one's stack.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/go/reader.h"

namespace lagwatch::stack {
namespace go {
namespace {

struct FoundGo {
  GoReader reader;
  uint32_t module;
  uint32_t language;
  uint64_t load_bias;
  ScriptFrames frames;
  char task[192];
};

// Writes "goroutine 18 in chan receive at main.worker (main.go:41)".
void Describe(const Goroutine& goroutine, const Wait& wait, char* text, size_t size_bytes) {
  const std::string_view kind = NameOf(wait.kind);
  const int written =
      std::snprintf(text, size_bytes, "goroutine %llu%s%.*s", static_cast<unsigned long long>(goroutine.id),
                    kind.empty() ? "" : " in ", static_cast<int>(kind.size()), kind.data());
  if (wait.place.name_size == 0 || written < 0 || static_cast<size_t>(written) >= size_bytes) return;
  std::snprintf(text + written, size_bytes - static_cast<size_t>(written), " at %.*s (%.*s:%u)",
                static_cast<int>(wait.place.name_size), wait.place.name,
                static_cast<int>(wait.place.file_size), wait.place.file, wait.place.line);
}

// A stack's frames in the making, from the one with the index `begin` on.
class GoFrameWriter {
 public:
  GoFrameWriter(const FoundGo& go, uint32_t begin, Stack* stack) : go_(go), stack_(stack) {
    stack->frame_count = begin;
  }
  void Add(const stack::Frame& frame) {
    is_cut_ = is_cut_ || stack_->frame_count == kMaxFrames;
    if (stack_->frame_count < kMaxFrames) stack_->frames[stack_->frame_count++] = frame;
  }
  // Those that were read last.
  void AddFrames() {
    for (size_t i = 0; i < go_.frames.count; ++i) {
      const ScriptFrame& frame = go_.frames.frames[i];
      Add({go_.language, frame.function + frame.line, frame.function});
    }
    is_cut_ = is_cut_ || go_.frames.is_cut;
  }
  bool is_cut() const { return is_cut_; }

 private:
  const FoundGo& go_;
  Stack* stack_;
  bool is_cut_ = false;
};

class Go final : public FoundInterpreter<FoundGo> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    // The reader knows the frames of processors whose calls push the return address.
    if constexpr (Registers::kReturnAddress != Registers::kProgramCounter) return;
    if (found() != nullptr) return;
    Find([&](FoundGo* found) {
      const bool is_go = found->reader.Attach(memory(), loaded.module.base);
      const Functions& functions = found->reader.functions();
      const bool has_goroutines = is_go && FindLayout(functions.minor_version()) != nullptr;
      if (!functions.version().empty() && !has_goroutines)
        std::snprintf(unreadable_, sizeof unreadable_, "%.*s", static_cast<int>(functions.version().size()),
                      functions.version().data());
      if (!is_go) return false;
      found->module = loaded.index;
      found->load_bias = loaded.module.load_bias;
      found->language = code->AddLanguage("[go]");
      return found->language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  ScriptTask FindTask(uint64_t number) override;
  policies::Doing FindWait(int tid, const FutexWait& futex, CodeMap* code) override;
  std::optional<ScriptThreadWait> FindThreadWait(int tid) override;
  size_t ListThreads(std::span<int32_t> tids) override {
    return found() == nullptr ? 0 : found()->reader.ListWaiting(tids);
  }
  bool NameThread(int tid, std::span<char> name) override;

 private:
  bool FindGoroutine(int tid, Goroutine* goroutine);
  // Reads the frames that the thread's native stack lacks, or has less of.
  bool ReadFrames(const CapturedThread& thread, std::span<const stack::Frame> native, CodeMap* code,
                  Stack* stack);
  // Whether the frame is Go's code; `pc` is its place.
  bool IsGo(const stack::Frame& frame, uint64_t* pc) const;
};

bool Go::FindGoroutine(int tid, Goroutine* goroutine) {
  GoReader& reader = found()->reader;
  return IsScriptThread(tid) ? reader.FindByThreadNumber(tid, goroutine)
                             : reader.FindOfThread(tid, goroutine);
}

bool Go::IsGo(const stack::Frame& frame, uint64_t* pc) const {
  if (frame.module != found()->module) return false;
  *pc = frame.offset + found()->load_bias;
  return found()->reader.functions().code().Holds(*pc);
}

bool Go::ReadFrames(const CapturedThread& thread, std::span<const stack::Frame> native, CodeMap* code,
                    Stack* stack) {
  FoundGo& go = *found();
  ScriptFunctions& functions = code->script_functions();
  Goroutine goroutine;
  // Its scheduler's work is in no sample.
  if (memory()->is_present() && FindGoroutine(thread.tid, &goroutine)) {
    stack->task = goroutine.id;
    if (go.reader.ReadFrames(goroutine, &functions, &go.frames)) return true;
  }
  // The sizes of frames lead further than frame pointers do; less far where C has called.
  uint64_t pc = 0;
  return thread.raw != nullptr && !native.empty() && IsGo(native.front(), &pc) &&
         go.reader.ReadFrames(*thread.raw, &functions, &go.frames) &&
         (go.reader.last_end() == WalkEnd::kOutermost || go.frames.count >= native.size());
}

void Go::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found() == nullptr) return;
  FoundGo& go = *found();
  uint64_t pc = 0;
  const auto is_go = [&](const stack::Frame& frame) { return IsGo(frame, &pc); };
  // Inlined calls have no frames of their own: there may be more of Go's frames than of native ones.
  std::array<stack::Frame, kMaxFrames> natives;
  const std::span<const stack::Frame> native(natives.data(), stack->frame_count);
  std::ranges::copy(stack->view(), natives.begin());
  auto rest = std::ranges::find_if(native, is_go);
  const bool runs_go = rest != native.end();
  if (!runs_go && !native.empty() && stack->completeness == Completeness::kComplete) return;
  const bool has_frames = ReadFrames(thread, native, code, stack);
  if (!has_frames && !runs_go) return;
  GoFrameWriter writer(go, static_cast<uint32_t>(rest - native.begin()), stack);
  if (has_frames) {
    writer.AddFrames();
    while (rest != native.end() && std::any_of(rest, native.end(), is_go)) ++rest;
    const bool is_whole = go.reader.last_end() == WalkEnd::kOutermost;
    stack->completeness = is_whole ? Completeness::kComplete : Completeness::kIncomplete;
  }
  for (; rest != native.end(); ++rest) {
    go.frames.count = 0;
    go.frames.is_cut = false;
    if (is_go(*rest) && go.reader.AddFrames(pc, &code->script_functions(), &go.frames)) {
      writer.AddFrames();
    } else {
      writer.Add(*rest);
    }
  }
  if (writer.is_cut()) stack->completeness = Completeness::kCut;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
}

ScriptTask Go::FindTask(uint64_t number) {
  if (found() == nullptr) return {};
  GoReader& reader = found()->reader;
  char* text = found()->task;
  text[0] = '\0';
  reader.goroutines().ForEach([&](const Goroutine& one) {
    if (one.id != number) return true;
    Wait wait;
    if (one.status == Status::kWaiting) {
      const Goroutine goroutine = one;
      reader.ReadWait(goroutine, &wait);
    }
    Describe(one, wait, text, sizeof found()->task);
    return false;
  });
  return {.name = text};
}

policies::Doing Go::FindWait(int tid, const FutexWait& /*futex*/, CodeMap* /*code*/) {
  Goroutine goroutine;
  Wait wait;
  if (found() == nullptr || !FindGoroutine(tid, &goroutine) || goroutine.status != Status::kWaiting)
    return policies::Doing::kUnknown;
  found()->reader.ReadWait(goroutine, &wait);
  return DoingOf(wait.kind);
}

std::optional<ScriptThreadWait> Go::FindThreadWait(int tid) {
  Goroutine goroutine;
  Wait wait;
  if (found() == nullptr || !IsScriptThread(tid) || !FindGoroutine(tid, &goroutine) ||
      goroutine.status != Status::kWaiting)
    return std::nullopt;
  GoReader& reader = found()->reader;
  reader.ReadWait(goroutine, &wait);
  if (!IsLock(wait.kind)) return std::nullopt;
  const Holders holders = reader.FindHolders(goroutine, wait);
  using policies::LockKind;
  return ScriptThreadWait{.address = wait.address,
                          .kind = wait.kind == WaitKind::kMutex ? LockKind::kMutex : LockKind::kRwLock,
                          .candidate_tid = holders.id == 0 ? 0 : ScriptThreadOf(holders.id),
                          .candidate_count = holders.count,
                          .is_sure = holders.is_sure,
                          .reason = "is in a function that has locked, and has the lock's address"};
}

bool Go::NameThread(int tid, std::span<char> name) {
  Goroutine goroutine;
  if (found() == nullptr || !IsScriptThread(tid) || !FindGoroutine(tid, &goroutine)) return false;
  std::snprintf(name.data(), name.size(), "goroutine %llu", static_cast<unsigned long long>(goroutine.id));
  return true;
}

}  // namespace
}  // namespace go

std::unique_ptr<Interpreter> CreateGo(Memory* memory) { return std::make_unique<go::Go>(memory); }

}  // namespace lagwatch::stack
