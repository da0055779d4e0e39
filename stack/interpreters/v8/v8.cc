// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/v8.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "stack/interpreters/v8/stack_words.h"

namespace lagwatch::stack::v8 {
namespace {

class KindsOfMap final : public CodeKinds {
 public:
  KindsOfMap(const CodeMap& code, uint32_t module) : code_(code), module_(module) {}
  Kind KindOf(uint64_t program_counter) override {
    bool is_code = false;
    const uint32_t module = code_.FindCode(program_counter, &is_code);
    if (!is_code) return Kind::kOther;
    return module == module_ ? Kind::kBuiltIn : module == kNoModule ? Kind::kGenerated : Kind::kOther;
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

Place FindPlace(const LoadedModule& loaded, uint32_t language) {
  // Both are in the file of V8's source that has all such functions.
  constexpr uint64_t kRestOfFileBytes = 64 << 10;
  const uint64_t call = FindOneOf(
      loaded.exports, {"_ZN2v88Function4CallENS_5LocalINS_7ContextEEENS1_INS_5ValueEEEiPS5_",
                       "_ZN2v88Function4CallEPNS_7IsolateENS_5LocalINS_7ContextEEENS3_INS_5ValueEEEiPS7_"});
  const uint64_t create = FindOneOf(loaded.exports, {"_ZN2v87Isolate3NewERKNS0_12CreateParamsE"});
  const uint64_t callback = loaded.exports.Find("_ZN2v88internal21Builtin_HandleApiCallEiPmPNS0_7IsolateE");
  const auto offset = [&](uint64_t address) { return address == 0 ? 0 : address - loaded.module.load_bias; };
  Place place{.module = loaded.index,
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
void AddRegisters(const Layout& layout, const Registers& registers, RunStart* start) {
  if (!registers.is_known(layout.bytecode_array_register) ||
      !registers.is_known(layout.bytecode_offset_register))
    return;
  start->bytecode_array = registers.value[layout.bytecode_array_register];
  start->bytecode_offset = registers.value[layout.bytecode_offset_register];
}

}  // namespace

void V8::LookAt(const LoadedModule& loaded, CodeMap* code) {
  if (found_ != nullptr || !IsV8(loaded.exports)) return;
  // Stale return addresses are in the frames of optimised code, which look like skipped callers.
  code->TrustGeneratedRecords();
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  Reader& reader = found[0].reader;
  if (!reader.Attach(memory_, loaded.exports)) {
    const int32_t major = reader.major_version();
    std::snprintf(unreadable_, sizeof unreadable_, major == 0 ? "v8" : "v8 %d", major);
    return;
  }
  found[0].place = FindPlace(loaded, code->AddLanguage("[javascript]"));
  if (found[0].place.language != kNoModule) found_ = std::move(found);
}

void V8::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr || thread.raw == nullptr) return;
  Found& found = found_[0];
  const auto is_v8 = [&](uint32_t module) { return module == found.place.module || module == kNoModule; };
  if (std::ranges::none_of(stack->view(), [&](const Frame& frame) { return is_v8(frame.module); })) return;
  if (!found.has_begun) code->Unwind(*thread.raw, stack);  // not yet by the rules of its code
  found.has_begun = true;
  code->UnwindTableless(*thread.raw, &found.walked, &found.tableless);
  FindKept(*stack, &found);

  KindsOfMap kinds(*code, found.place.module);
  const StackWords words(*thread.raw, memory_);
  found.frames.count = 0;
  found.frames.is_cut = false;
  found.reader.BeginStack();
  size_t run_count = 0;
  const std::span<const TablelessFrame> tableless = found.tableless.view();
  for (size_t begin = 0, end = 0; begin < tableless.size() && run_count < kMostRuns; begin = end) {
    const auto is_v8s = [&](const TablelessFrame& frame) {
      return kinds.KindOf(frame.program_counter - 1) != CodeKinds::Kind::kOther;
    };
    for (end = begin + 1; end < tableless.size() && tableless[end].index <= tableless[end - 1].index + 1;
         ++end) {
    }
    if (!is_v8s(tableless[begin])) continue;
    const std::span<const TablelessFrame> run = tableless.subspan(begin, end - begin);
    const uint32_t first = PlaceOf(run.front(), found);
    const uint32_t last = PlaceOf(run.back(), found);
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

void V8::FindKept(const Stack& stack, Found* found) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < found->walked.frame_count; ++i) {
    const Frame& frame = found->walked.frames[i];
    const bool is_kept = kept < stack.frame_count && stack.frames[kept].module == frame.module &&
                         stack.frames[kept].offset == frame.offset;
    found->kept_at[i] = is_kept ? kept++ : static_cast<uint32_t>(kMaxFrames);
  }
}

uint32_t V8::PlaceOf(const TablelessFrame& frame, const Found& found) {
  uint64_t index = frame.index;
  if (found.walked.gap_frame_count != 0 && index >= found.walked.gap_at) {
    const uint64_t last_of_gap = found.walked.gap_at + found.walked.gap_frame_count;
    index = index < last_of_gap ? kMaxFrames : index - found.walked.gap_frame_count;
  }
  return index < found.walked.frame_count ? found.kept_at[index] : static_cast<uint32_t>(kMaxFrames);
}

}  // namespace lagwatch::stack::v8
