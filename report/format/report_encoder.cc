// SPDX-License-Identifier: Apache-2.0
#include "report/format/report_encoder.h"

#include <algorithm>

#include "base/hash.h"

namespace lagwatch::report {
namespace {

// proto3 leaves out what is empty.
void AddText(FixedWriter* writer, pbf_tag_type field, std::string_view text) {
  if (!text.empty()) writer->add_bytes(field, text.data(), text.size());
}

void AddNumber(FixedWriter* writer, pbf_tag_type field, uint64_t number) {
  if (number != 0) writer->add_uint64(field, number);
}

void AddDuration(FixedWriter* writer, pbf_tag_type field, int64_t ns) {
  AddNumber(writer, field, static_cast<uint64_t>(std::max<int64_t>(ns, 0)));
}

void AddStackReference(FixedWriter* writer, pbf_tag_type field, uint32_t stack) {
  AddNumber(writer, field, stack == kNoStack ? 0 : uint64_t{stack} + 1);
}

template <typename Select>
void AddPacked(FixedWriter* stack, StackField field, std::span<const EncodedFrame> frames, Select select) {
  protozero::detail::packed_field_varint<FixedBuffer, uint64_t> packed(*stack, Number(field));
  for (const EncodedFrame& frame : frames) packed.add_element(select(frame));
}

uint64_t HashOf(std::span<const EncodedFrame> frames, Completeness completeness, StackGap gap) {
  uint64_t hash = base::HashWord(static_cast<uint64_t>(completeness), base::kFnvOffsetBasis);
  hash = base::HashWord(gap.frame_count, hash);
  for (const EncodedFrame& frame : frames) {
    hash = base::HashWord(frame.offset, base::HashWord(frame.module, hash));
  }
  return hash;
}

}  // namespace

ReportEncoder::ReportEncoder(FixedBuffer* buffer) : buffer_(buffer), writer_(*buffer) { buffer_->Clear(); }

void ReportEncoder::SetHeader(const ReportHeader& header) {
  AddText(&writer_, Number(ReportField::kId), header.id.as_bytes());
  AddText(&writer_, Number(ReportField::kSessionId), header.session_id.as_bytes());
  AddText(&writer_, Number(ReportField::kLagId), header.lag_id.as_bytes());
  AddNumber(&writer_, Number(ReportField::kOrdinal), header.ordinal);
  AddText(&writer_, Number(ReportField::kApp), header.app);
  AddText(&writer_, Number(ReportField::kAppVersion), header.app_version);
  AddText(&writer_, Number(ReportField::kUser), header.user);
  AddText(&writer_, Number(ReportField::kOs), header.os);
  AddText(&writer_, Number(ReportField::kMachine), header.machine);
  AddNumber(&writer_, Number(ReportField::kPid), header.pid);
  AddNumber(&writer_, Number(ReportField::kTid), header.tid);
  AddText(&writer_, Number(ReportField::kLoop), header.loop);
  AddText(&writer_, Number(ReportField::kTag), header.tag);
  AddNumber(&writer_, Number(ReportField::kKind), static_cast<uint64_t>(header.kind));
  AddNumber(&writer_, Number(ReportField::kThresholdMs), header.threshold_ms);
  AddDuration(&writer_, Number(ReportField::kStartWallMs), header.start_wall_ms);
  AddDuration(&writer_, Number(ReportField::kElapsedNs), header.elapsed_ns);

  FixedWriter cpu(writer_, Number(ReportField::kCpu));
  AddDuration(&cpu, Number(CpuField::kWindowNs), header.cpu_window_ns);
  AddDuration(&cpu, Number(CpuField::kThreadNs), header.cpu_thread_ns);
  AddDuration(&cpu, Number(CpuField::kProcessNs), header.cpu_process_ns);
}

uint32_t ReportEncoder::AddModule(std::string_view path, std::string_view build_id, uint64_t load_bias) {
  FixedWriter module(writer_, Number(ReportField::kModules));
  AddText(&module, Number(ModuleField::kPath), path);
  AddText(&module, Number(ModuleField::kBuildId), build_id);
  AddNumber(&module, Number(ModuleField::kLoadBias), load_bias);
  return module_count_++;
}

uint32_t ReportEncoder::AddStack(std::span<const EncodedFrame> frames, Completeness completeness,
                                 StackGap gap) {
  uint64_t hash = HashOf(frames, completeness, gap);
  auto known_end = stack_hashes_.begin() + stack_count_;
  if (auto known = std::find(stack_hashes_.begin(), known_end, hash); known != known_end) {
    return static_cast<uint32_t>(known - stack_hashes_.begin());
  }
  if (stack_count_ == kMaxStacks) return kNoStack;
  // The completeness is written even when it is zero: protozero drops a nested message that stays empty.
  FixedWriter stack(writer_, Number(ReportField::kStacks));
  AddPacked(&stack, StackField::kModule, frames, [](const EncodedFrame& frame) {
    return frame.module == kNoModule ? uint64_t{0} : uint64_t{frame.module} + 1;
  });
  AddPacked(&stack, StackField::kOffset, frames, [](const EncodedFrame& frame) { return frame.offset; });
  AddPacked(&stack, StackField::kFunctionOffset, frames,
            [](const EncodedFrame& frame) { return frame.function_offset; });
  stack.add_enum(Number(StackField::kCompleteness), static_cast<int32_t>(completeness));
  if (gap.frame_count != 0) {
    stack.add_uint32(Number(StackField::kGapAt), gap.at);
    stack.add_uint64(Number(StackField::kGapFrames), gap.frame_count);
  }
  stack_hashes_[stack_count_] = hash;
  return stack_count_++;
}

void ReportEncoder::AddSample(int64_t age_ns, uint32_t stack) {
  FixedWriter sample(writer_, Number(ReportField::kSamples));
  sample.add_uint64(Number(SampleField::kAgeNs), static_cast<uint64_t>(std::max<int64_t>(age_ns, 0)));
  sample.add_uint32(Number(SampleField::kStack), stack);
}

void ReportEncoder::SetExpensiveStack(uint32_t stack) {
  writer_.add_uint32(Number(ReportField::kExpensiveStack), stack);
}

void ReportEncoder::AddThread(const ThreadFields& fields) {
  FixedWriter thread(writer_, Number(ReportField::kThreads));
  AddNumber(&thread, Number(ThreadField::kTid), fields.tid);
  AddText(&thread, Number(ThreadField::kName), fields.name);
  AddText(&thread, Number(ThreadField::kState), {&fields.state, 1});
  AddStackReference(&thread, Number(ThreadField::kStack), fields.stack);
  AddDuration(&thread, Number(ThreadField::kCpuNs), fields.cpu_ns);
  AddText(&thread, Number(ThreadField::kWaitChannel), fields.wait_channel);
  AddNumber(&thread, Number(ThreadField::kSyscall), static_cast<uint64_t>(fields.syscall_number + 1));
}

void ReportEncoder::SetThreadsDropped(uint32_t count) {
  AddNumber(&writer_, Number(ReportField::kThreadsDropped), count);
}

void ReportEncoder::AddWait(const WaitFields& fields) {
  FixedWriter wait(writer_, Number(ReportField::kWaits));
  AddNumber(&wait, Number(WaitField::kTid), fields.tid);
  AddStackReference(&wait, Number(WaitField::kStack), fields.stack);
  AddNumber(&wait, Number(WaitField::kLock), fields.lock);
  AddNumber(&wait, Number(WaitField::kKind), static_cast<uint64_t>(fields.kind));
  AddNumber(&wait, Number(WaitField::kWaitsFor), static_cast<uint64_t>(fields.waits_for));
  AddNumber(&wait, Number(WaitField::kHasTimeout), fields.has_timeout);
  AddNumber(&wait, Number(WaitField::kOwnerTid), fields.owner_tid);
  AddText(&wait, Number(WaitField::kOwnerName), fields.owner_name);
  AddStackReference(&wait, Number(WaitField::kOwnerStack), fields.owner_stack);
}

void ReportEncoder::SetWaitOutcome(WaitOutcome outcome) {
  AddNumber(&writer_, Number(ReportField::kWaitOutcome), static_cast<uint64_t>(outcome));
}

void ReportEncoder::RewindTo(const Mark& mark) {
  buffer_->Rewind(mark.size_bytes);
  module_count_ = mark.module_count;
  stack_count_ = mark.stack_count;
}

bool EncodeLagEnd(const base::Uuid& report_id, int64_t duration_ns, FixedBuffer* buffer) {
  buffer->Clear();
  FixedWriter writer(*buffer);
  AddText(&writer, Number(LagEndField::kReportId), report_id.as_bytes());
  AddDuration(&writer, Number(LagEndField::kDurationNs), duration_ns);
  return !buffer->overflowed();
}

}  // namespace lagwatch::report
