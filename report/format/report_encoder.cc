// SPDX-License-Identifier: Apache-2.0
#include "report/format/report_encoder.h"

#include <algorithm>

#include "base/hash.h"
#include "report/format/field_codec.h"

namespace lagwatch::report {
namespace {

template <typename Select>
void AddPacked(FixedWriter* stack, StackField field, std::span<const Frame> frames, Select select) {
  protozero::detail::packed_field_varint<FixedBuffer, uint64_t> packed(*stack, Number(field));
  for (const Frame& frame : frames) packed.add_element(select(frame));
}

uint64_t HashOf(std::span<const Frame> frames, Completeness completeness, StackGap gap) {
  uint64_t hash = base::HashWord(static_cast<uint64_t>(completeness), base::kFnvOffsetBasis);
  hash = base::HashWord(gap.frame_count, hash);
  for (const Frame& frame : frames) {
    hash = base::HashWord(frame.offset, base::HashWord(frame.module, hash));
  }
  return hash;
}

}  // namespace

ReportEncoder::ReportEncoder(FixedBuffer* buffer) : buffer_(buffer), writer_(*buffer) { buffer_->Clear(); }

void ReportEncoder::SetHeader(const ReportHeader& header) {
  WriteFields(kHeaderTable, header, &writer_);
  FixedWriter cpu(writer_, Number(ReportField::kCpu));
  WriteFields(kCpuTable, header, &cpu);
}

uint32_t ReportEncoder::AddModule(std::string_view path, std::string_view build_id, uint64_t load_bias) {
  const struct {
    std::string_view path;
    std::string_view build_id;
    uint64_t load_bias;
  } module{path, build_id, load_bias};
  FixedWriter writer(writer_, Number(ReportField::kModules));
  WriteFields(kModuleTable, module, &writer);
  return module_count_++;
}

uint32_t ReportEncoder::AddStack(std::span<const Frame> frames, Completeness completeness, StackGap gap) {
  uint64_t hash = HashOf(frames, completeness, gap);
  auto known_end = stack_hashes_.begin() + stack_count_;
  if (auto known = std::find(stack_hashes_.begin(), known_end, hash); known != known_end) {
    return static_cast<uint32_t>(known - stack_hashes_.begin());
  }
  if (stack_count_ == kMaxStacks) return kNoStack;
  // The completeness is written even when it is zero: protozero drops a nested message that stays empty.
  FixedWriter stack(writer_, Number(ReportField::kStacks));
  AddPacked(&stack, StackField::kModule, frames,
            [](const Frame& frame) { return uint64_t{static_cast<uint32_t>(frame.module + 1)}; });
  AddPacked(&stack, StackField::kOffset, frames, [](const Frame& frame) { return frame.offset; });
  AddPacked(&stack, StackField::kFunctionOffset, frames,
            [](const Frame& frame) { return frame.function_offset; });
  stack.add_enum(Number(StackField::kCompleteness), static_cast<int32_t>(completeness));
  if (gap.frame_count != 0) {
    stack.add_uint32(Number(StackField::kGapAt), gap.at);
    stack.add_uint64(Number(StackField::kGapFrames), gap.frame_count);
  }
  stack_hashes_[stack_count_] = hash;
  return stack_count_++;
}

void ReportEncoder::AddSymbol(uint32_t module, uint64_t function_offset, std::string_view name) {
  AppendSymbol(module, function_offset, name, buffer_);
}

void ReportEncoder::AddSample(const Sample& sample) {
  FixedWriter writer(writer_, Number(ReportField::kSamples));
  WriteFields(kSampleTable, sample, &writer);
}

void ReportEncoder::SetExpensiveStack(uint32_t stack) {
  writer_.add_uint32(Number(ReportField::kExpensiveStack), stack);
}

void ReportEncoder::AddThread(const ThreadView& thread) {
  FixedWriter writer(writer_, Number(ReportField::kThreads));
  WriteFields(kThreadTable, thread, &writer);
}

void ReportEncoder::SetThreadsDropped(uint32_t count) {
  Put(&writer_, Number(ReportField::kThreadsDropped), count);
}

void ReportEncoder::AddWait(const WaitView& wait) {
  FixedWriter writer(writer_, Number(ReportField::kWaits));
  WriteFields(kWaitTable, wait, &writer);
}

void ReportEncoder::SetWaitOutcome(WaitOutcome outcome) {
  Put(&writer_, Number(ReportField::kWaitOutcome), outcome);
}

void ReportEncoder::SetVerdict(const policies::Verdict& verdict) {
  FixedWriter writer(writer_, Number(ReportField::kVerdict));
  WriteFields(kVerdictTable, verdict, &writer);
}

void ReportEncoder::SetDiscount(const policies::DiscountedTime& findings) {
  FixedWriter writer(writer_, Number(ReportField::kDiscount));
  WriteFields(kDiscountTable, findings, &writer);
}

void ReportEncoder::AddPastDispatch(const PastDispatchView& dispatch) {
  FixedWriter writer(writer_, Number(ReportField::kHistory));
  WriteFields(kPastDispatchTable, dispatch, &writer);
}

void ReportEncoder::AddNumber(std::string_view name, int64_t number) {
  FixedWriter writer(writer_, Number(ReportField::kFacts));
  Put(&writer, Number(FactField::kName), name);
  writer.add_int64(Number(FactField::kNumber), number);
}

void ReportEncoder::AddText(std::string_view name, std::string_view text) {
  FixedWriter writer(writer_, Number(ReportField::kFacts));
  Put(&writer, Number(FactField::kName), name);
  Put(&writer, Number(FactField::kText), text);
}

void ReportEncoder::RewindTo(const Mark& mark) {
  buffer_->Rewind(mark.size_bytes);
  module_count_ = mark.module_count;
  stack_count_ = mark.stack_count;
}

void AppendSymbol(uint32_t module, uint64_t function_offset, std::string_view name, FixedBuffer* buffer) {
  const struct {
    uint32_t module;
    uint64_t function_offset;
    std::string_view name;
  } symbol{module, function_offset, name};
  FixedWriter report(*buffer);
  FixedWriter writer(report, Number(ReportField::kSymbols));
  WriteFields(kSymbolTable, symbol, &writer);
}

bool EncodeHangEnd(const base::Uuid& report_id, int64_t duration_ns, FixedBuffer* buffer, bool is_blamed) {
  buffer->Clear();
  FixedWriter writer(*buffer);
  WriteFields(kHangEndTable, HangEnd{report_id, duration_ns, is_blamed}, &writer);
  return !buffer->overflowed();
}

bool EncodeFrameSlice(const FrameSliceView& slice, FixedBuffer* buffer) {
  buffer->Clear();
  FixedWriter writer(*buffer);
  WriteFields(kFrameSliceTable, slice, &writer);
  return !buffer->overflowed();
}

}  // namespace lagwatch::report
