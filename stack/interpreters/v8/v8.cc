// SPDX-License-Identifier: Apache-2.0
// V8 in a process: the first of its modules that exports what debuggers need, as Node does.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "stack/code/tableless_frames.h"
#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/v8/reader.h"
#include "stack/interpreters/v8/splice.h"
#include "stack/interpreters/v8/stack_words.h"

namespace lagwatch::stack {
namespace v8 {
namespace {

constexpr size_t kMostRuns = 16;

// node::SyncProcessRunner::TryInitializeAndRunLoop(v8::Local<v8::Value>)
constexpr const char* kSyncProcess =
    "_ZN4node17SyncProcessRunner23TryInitializeAndRunLoopEN2v85LocalINS1_5ValueEEE";

// The last thread that was found to wait for a child.
struct ChildWait {
  int tid;
  uint64_t stack_pointer;
};

struct FoundV8 {
  V8Reader reader;
  V8Code place;
  uint64_t sync_process;  // the function of Node's that waits for a child, in its module; 0: it has none
  ChildWait child_wait;
  ScriptFrames frames;
  bool has_begun;
  Stack walked;  // the native stack with all frames
  TablelessFrames tableless;
  std::array<uint32_t, kMaxFrames> kept_at;  // of the walked frames, by place: where they are in the stack
  std::array<Run, kMostRuns> runs;
};

class KindsOfMap final : public CodeKinds {
 public:
  KindsOfMap(const CodeMap& code, uint32_t module) : code_(code), module_(module) {}
  CodeKind KindOf(uint64_t program_counter) override {
    bool is_code = false;
    const uint32_t module = code_.FindCode(program_counter, &is_code);
    if (!is_code) return CodeKind::kOther;
    return module == module_     ? CodeKind::kBuiltIn
           : module == kNoModule ? CodeKind::kGenerated
                                 : CodeKind::kOther;
  }

 private:
  const CodeMap& code_;
  uint32_t module_;
};

uint64_t FindOneOf(const ExportedSymbols& exports, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const uint64_t address = exports.Find(name)) return address;
  }
  return 0;
}

V8Code FindPlace(const LoadedModule& loaded, uint32_t language) {
  // Both are in the file of V8's source that has all such functions.
  constexpr uint64_t kRestOfFileBytes = 64 << 10;
  const uint64_t call = FindOneOf(
      loaded.exports, {"_ZN2v88Function4CallENS_5LocalINS_7ContextEEENS1_INS_5ValueEEEiPS5_",
                       "_ZN2v88Function4CallEPNS_7IsolateENS_5LocalINS_7ContextEEENS3_INS_5ValueEEEiPS7_"});
  const uint64_t create = FindOneOf(loaded.exports, {"_ZN2v87Isolate3NewERKNS0_12CreateParamsE"});
  const uint64_t callback = loaded.exports.Find("_ZN2v88internal21Builtin_HandleApiCallEiPmPNS0_7IsolateE");
  const auto offset = [&](uint64_t address) { return address == 0 ? 0 : address - loaded.module.load_bias; };
  V8Code place{.module = loaded.index,
               .language = language,
               .api_begin = 0,
               .api_end = 0,
               .callback = offset(callback)};
  if (call != 0) {
    place.api_begin = offset(create == 0 ? call : std::min(call, create)) - kRestOfFileBytes;
    place.api_end = offset(std::max(call, create)) + kRestOfFileBytes;
  }
  return place;
}

// The frame that a run begins with. Code without a frame of its own shares the one of its caller, which then
// is what the frame's words belong to.
const TablelessFrame& InnermostWithFrame(std::span<const TablelessFrame> run) {
  size_t i = 0;
  while (i + 1 < run.size() && run[i + 1].frame_pointer == run[i].frame_pointer) ++i;
  return run[i];
}

// Of a thread that is in V8's code: what the interpreter has in registers that other code may use as it
// likes.
void AddRegisters(const V8Layout& layout, const Registers& registers, RunStart* start) {
  if (!registers.is_known(layout.bytecode_array_register) ||
      !registers.is_known(layout.bytecode_offset_register))
    return;
  start->bytecode_array = registers.value[layout.bytecode_array_register];
  start->bytecode_offset = registers.value[layout.bytecode_offset_register];
}

// Finds the places of the walked frames in `stack`, which lacks lagwatch's own.
void FindKept(const Stack& stack, FoundV8* found) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < found->walked.frame_count; ++i) {
    const Frame& frame = found->walked.frames[i];
    const bool is_kept = kept < stack.frame_count && stack.frames[kept].module == frame.module &&
                         stack.frames[kept].offset == frame.offset;
    found->kept_at[i] = is_kept ? kept++ : static_cast<uint32_t>(kMaxFrames);
  }
}

// The place in `stack` of a tableless frame; kMaxFrames if it is not there.
uint32_t PlaceOf(const TablelessFrame& frame, const FoundV8& found) {
  uint64_t index = frame.index;
  if (found.walked.gap_frame_count != 0 && index >= found.walked.gap_at) {
    const uint64_t last_of_gap = found.walked.gap_at + found.walked.gap_frame_count;
    index = index < last_of_gap ? kMaxFrames : index - found.walked.gap_frame_count;
  }
  return index < found.walked.frame_count ? found.kept_at[index] : static_cast<uint32_t>(kMaxFrames);
}

class V8 final : public FoundInterpreter<FoundV8> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (found() != nullptr || !IsV8(loaded.exports)) return;
    // Stale return addresses are in the frames of optimised code, which look like skipped callers.
    code->TrustGeneratedRecords();
    Find([&](FoundV8* found) {
      if (!found->reader.Attach(memory(), loaded.exports)) {
        const int32_t major = found->reader.major_version();
        std::snprintf(unreadable_, sizeof unreadable_, major == 0 ? "v8" : "v8 %d", major);
        return false;
      }
      found->place = FindPlace(loaded, code->AddLanguage("[javascript]"));
      const uint64_t sync_process = loaded.exports.Find(kSyncProcess);
      found->sync_process = sync_process == 0 ? 0 : sync_process - loaded.module.load_bias;
      return found->place.language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;

  // Node runs a loop of its own for execSync() and its kin.
  policies::Doing FindWait(int tid, const FutexWait& futex, CodeMap*) override {
    const bool is_for_child = found() != nullptr && found()->child_wait.tid == tid &&
                              found()->child_wait.stack_pointer == futex.stack_pointer;
    return is_for_child ? policies::Doing::kProcess : policies::Doing::kUnknown;
  }

  ScriptPeer FindPeer(int tid, const FutexWait& futex) override {
    const bool is_for_child = FindWait(tid, futex, nullptr) == policies::Doing::kProcess;
    return {.kind = is_for_child ? policies::LockKind::kChild : policies::LockKind::kUnknown};
  }

 private:
  // Notes whether a thread with that native stack waits for a child.
  void NoteChildWait(const CapturedThread& thread, const Stack& stack);
};

void V8::NoteChildWait(const CapturedThread& thread, const Stack& stack) {
  FoundV8& found = *this->found();
  const bool is_in_call = std::ranges::any_of(stack.view(), [&](const Frame& frame) {
    return frame.module == found.place.module && frame.function_offset == found.sync_process;
  });
  if (is_in_call && found.sync_process != 0) {
    found.child_wait = {thread.tid, thread.raw->registers.stack_pointer()};
  } else if (found.child_wait.tid == thread.tid) {
    found.child_wait = {};
  }
}

void V8::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (this->found() == nullptr || thread.raw == nullptr) return;
  FoundV8& found = *this->found();
  NoteChildWait(thread, *stack);
  const auto is_v8 = [&](uint32_t module) { return module == found.place.module || module == kNoModule; };
  if (std::ranges::none_of(stack->view(), [&](const Frame& frame) { return is_v8(frame.module); })) return;
  if (!found.has_begun) code->Unwind(*thread.raw, stack);  // not yet by the rules of its code
  found.has_begun = true;
  code->UnwindTableless(*thread.raw, &found.walked, &found.tableless);
  FindKept(*stack, &found);

  KindsOfMap kinds(*code, found.place.module);
  const StackWords words(*thread.raw, memory());
  found.frames.count = 0;
  found.frames.is_cut = false;
  found.reader.BeginStack();
  size_t run_count = 0;
  const std::span<const TablelessFrame> tableless = found.tableless.view();
  for (size_t begin = 0, end = 0; begin < tableless.size() && run_count < kMostRuns; begin = end) {
    const auto is_v8s = [&](const TablelessFrame& frame) {
      return kinds.KindOf(frame.program_counter - 1) != CodeKinds::CodeKind::kOther;
    };
    for (end = begin + 1; end < tableless.size() && tableless[end].index <= tableless[end - 1].index + 1;
         ++end) {
    }
    if (!is_v8s(tableless[begin])) continue;
    const std::span<const TablelessFrame> run = tableless.subspan(begin, end - begin);
    const uint32_t first = v8::PlaceOf(run.front(), found);
    const uint32_t last = v8::PlaceOf(run.back(), found);
    if (first >= stack->frame_count) continue;
    const TablelessFrame& frame = InnermostWithFrame(run);
    RunStart start{.end_of_call = frame.program_counter, .frame_pointer = frame.frame_pointer};
    if (frame.program_counter == thread.raw->registers.program_counter()) {
      ++start.end_of_call;
      AddRegisters(found.reader.layout(), thread.raw->registers, &start);
    }
    const size_t before = found.frames.count;
    if (!found.reader.ReadRun(start, words, &kinds, &code->script_functions(), &found.frames)) continue;
    if (found.frames.count == before) continue;
    found.runs[run_count++] = {.first = first,
                               .last = last < stack->frame_count ? last : first,
                               .scripts_begin = before,
                               .scripts_end = found.frames.count};
  }
  Splice(found.place, {found.runs.data(), run_count}, found.frames, stack);
}

}  // namespace
}  // namespace v8

std::unique_ptr<Interpreter> CreateV8(Memory* memory) { return std::make_unique<v8::V8>(memory); }

}  // namespace lagwatch::stack
