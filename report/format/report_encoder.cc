// SPDX-License-Identifier: Apache-2.0
#include "report/format/report_encoder.h"

#include <algorithm>

#include "base/hash.h"

namespace lagwatch::report {
namespace {

// proto3 leaves out what is empty.
void PutText(FixedWriter* writer, pbf_tag_type field, std::string_view text) {
  if (!text.empty()) writer->add_bytes(field, text.data(), text.size());
}

void PutNumber(FixedWriter* writer, pbf_tag_type field, uint64_t number) {
  if (number != 0) writer->add_uint64(field, number);
}

// Nothing that is measured here is less than nothing.
void PutMeasure(FixedWriter* writer, pbf_tag_type field, int64_t measure) {
  PutNumber(writer, field, static_cast<uint64_t>(std::max<int64_t>(measure, 0)));
}

// 0 where there is none.
void PutIndex(FixedWriter* writer, pbf_tag_type field, uint32_t index) {
  PutNumber(writer, field, static_cast<uint32_t>(index + 1));
}

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

template <size_t kCount>
void PutCounts(FixedWriter* writer, FrameSliceField field, const std::array<uint64_t, kCount>& counts) {
  protozero::detail::packed_field_varint<FixedBuffer, uint64_t> packed(*writer, Number(field));
  for (uint64_t count : counts) packed.add_element(count);
}

}  // namespace

ReportEncoder::ReportEncoder(FixedBuffer* buffer) : buffer_(buffer), writer_(*buffer) { buffer_->Clear(); }

void ReportEncoder::SetHeader(const ReportHeader& header) {
  PutText(&writer_, Number(ReportField::kId), header.id.as_bytes());
  PutText(&writer_, Number(ReportField::kSessionId), header.session_id.as_bytes());
  PutText(&writer_, Number(ReportField::kLagId), header.lag_id.as_bytes());
  PutNumber(&writer_, Number(ReportField::kOrdinal), header.ordinal);
  PutText(&writer_, Number(ReportField::kApp), header.app);
  PutText(&writer_, Number(ReportField::kAppVersion), header.app_version);
  PutText(&writer_, Number(ReportField::kUser), header.user);
  PutText(&writer_, Number(ReportField::kOs), header.os);
  PutText(&writer_, Number(ReportField::kMachine), header.machine);
  PutNumber(&writer_, Number(ReportField::kPid), header.pid);
  PutNumber(&writer_, Number(ReportField::kTid), header.tid);
  PutText(&writer_, Number(ReportField::kLoop), header.loop);
  PutText(&writer_, Number(ReportField::kTag), header.tag);
  PutNumber(&writer_, Number(ReportField::kKind), static_cast<uint64_t>(header.kind));
  PutNumber(&writer_, Number(ReportField::kLevel), static_cast<uint64_t>(header.level));
  PutNumber(&writer_, Number(ReportField::kThresholdMs), header.threshold_ms);
  PutMeasure(&writer_, Number(ReportField::kStartWallMs), header.start_wall_ms);
  PutMeasure(&writer_, Number(ReportField::kElapsedNs), header.elapsed_ns);

  FixedWriter cpu(writer_, Number(ReportField::kCpu));
  PutMeasure(&cpu, Number(CpuField::kWindowNs), header.cpu_window_ns);
  PutMeasure(&cpu, Number(CpuField::kThreadNs), header.cpu_thread_ns);
  PutMeasure(&cpu, Number(CpuField::kProcessNs), header.cpu_process_ns);
}

uint32_t ReportEncoder::AddModule(std::string_view path, std::string_view build_id, uint64_t load_bias) {
  FixedWriter module(writer_, Number(ReportField::kModules));
  PutText(&module, Number(ModuleField::kPath), path);
  PutText(&module, Number(ModuleField::kBuildId), build_id);
  PutNumber(&module, Number(ModuleField::kLoadBias), load_bias);
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

void ReportEncoder::AddSample(int64_t age_ns, uint32_t stack, const policies::ThreadUse& use,
                              const CallCost& cost) {
  FixedWriter sample(writer_, Number(ReportField::kSamples));
  sample.add_uint64(Number(SampleField::kAgeNs), static_cast<uint64_t>(std::max<int64_t>(age_ns, 0)));
  sample.add_uint32(Number(SampleField::kStack), stack);
  PutMeasure(&sample, Number(SampleField::kUsedCpuNs), use.cpu_ns);
  PutMeasure(&sample, Number(SampleField::kUsedMinorFaults), use.minor_faults);
  PutMeasure(&sample, Number(SampleField::kUsedMajorFaults), use.major_faults);
  PutMeasure(&sample, Number(SampleField::kUsedVoluntarySwitches), use.voluntary_switches);
  PutMeasure(&sample, Number(SampleField::kUsedInvoluntarySwitches), use.involuntary_switches);
  PutMeasure(&sample, Number(SampleField::kWallNs), cost.wall_ns);
  PutNumber(&sample, Number(SampleField::kCalls), cost.calls);
}

void ReportEncoder::SetExpensiveStack(uint32_t stack) {
  writer_.add_uint32(Number(ReportField::kExpensiveStack), stack);
}

void ReportEncoder::AddThread(const ThreadFields& fields) {
  FixedWriter thread(writer_, Number(ReportField::kThreads));
  PutNumber(&thread, Number(ThreadField::kTid), fields.tid);
  PutText(&thread, Number(ThreadField::kName), fields.name);
  PutText(&thread, Number(ThreadField::kState), {&fields.state, 1});
  PutIndex(&thread, Number(ThreadField::kStack), fields.stack);
  PutMeasure(&thread, Number(ThreadField::kCpuNs), fields.cpu_ns);
  PutText(&thread, Number(ThreadField::kWaitChannel), fields.wait_channel);
  PutNumber(&thread, Number(ThreadField::kSyscall), static_cast<uint64_t>(fields.syscall_number + 1));
}

void ReportEncoder::SetThreadsDropped(uint32_t count) {
  PutNumber(&writer_, Number(ReportField::kThreadsDropped), count);
}

void ReportEncoder::AddWait(const WaitFields& fields) {
  FixedWriter wait(writer_, Number(ReportField::kWaits));
  PutNumber(&wait, Number(WaitField::kTid), fields.tid);
  PutIndex(&wait, Number(WaitField::kStack), fields.stack);
  PutNumber(&wait, Number(WaitField::kLock), fields.lock);
  PutNumber(&wait, Number(WaitField::kKind), static_cast<uint64_t>(fields.kind));
  PutNumber(&wait, Number(WaitField::kWaitsFor), static_cast<uint64_t>(fields.waits_for));
  PutNumber(&wait, Number(WaitField::kHasTimeout), fields.has_timeout);
  PutNumber(&wait, Number(WaitField::kOwnerTid), fields.owner_tid);
  PutText(&wait, Number(WaitField::kOwnerName), fields.owner_name);
  PutIndex(&wait, Number(WaitField::kOwnerStack), fields.owner_stack);
}

void ReportEncoder::SetWaitOutcome(WaitOutcome outcome) {
  PutNumber(&writer_, Number(ReportField::kWaitOutcome), static_cast<uint64_t>(outcome));
}

void ReportEncoder::SetVerdict(const policies::Verdict& verdict) {
  FixedWriter writer(writer_, Number(ReportField::kVerdict));
  const policies::TimeShares& shares = verdict.shares;
  PutNumber(&writer, Number(VerdictField::kWord), static_cast<uint64_t>(verdict.word));
  PutMeasure(&writer, Number(VerdictField::kWallNs), shares.wall_ns);
  PutMeasure(&writer, Number(VerdictField::kUserNs), shares.user_ns);
  PutMeasure(&writer, Number(VerdictField::kKernelNs), shares.kernel_ns);
  PutMeasure(&writer, Number(VerdictField::kRunQueueNs), shares.run_queue_ns);
  PutMeasure(&writer, Number(VerdictField::kThrottledNs), shares.throttled_ns);
  PutMeasure(&writer, Number(VerdictField::kLockNs), shares.lock_ns);
  PutMeasure(&writer, Number(VerdictField::kDiskNs), shares.disk_ns);
  PutMeasure(&writer, Number(VerdictField::kMemoryNs), shares.memory_ns);
  PutMeasure(&writer, Number(VerdictField::kNetworkNs), shares.network_ns);
  PutMeasure(&writer, Number(VerdictField::kSleepNs), shares.sleep_ns);
  PutMeasure(&writer, Number(VerdictField::kStoppedNs), shares.stopped_ns);
  PutMeasure(&writer, Number(VerdictField::kCpuNs), verdict.use.cpu_ns);
  PutMeasure(&writer, Number(VerdictField::kMinorFaults), verdict.use.minor_faults);
  PutMeasure(&writer, Number(VerdictField::kMajorFaults), verdict.use.major_faults);
  PutMeasure(&writer, Number(VerdictField::kVoluntarySwitches), verdict.use.voluntary_switches);
  PutMeasure(&writer, Number(VerdictField::kInvoluntarySwitches), verdict.use.involuntary_switches);
  PutMeasure(&writer, Number(VerdictField::kProcessNs), shares.process_ns);
  PutMeasure(&writer, Number(VerdictField::kPipeNs), shares.pipe_ns);
  PutMeasure(&writer, Number(VerdictField::kDisplayNs), shares.display_ns);
  PutMeasure(&writer, Number(VerdictField::kServiceNs), shares.service_ns);
  PutMeasure(&writer, Number(VerdictField::kNameLookupNs), shares.name_lookup_ns);
}

void ReportEncoder::SetGuard(const policies::GuardFindings& findings) {
  FixedWriter writer(writer_, Number(ReportField::kGuard));
  PutMeasure(&writer, Number(GuardField::kSuspendedNs), findings.suspended_ns);
  PutMeasure(&writer, Number(GuardField::kStoppedNs), findings.stopped_ns);
  PutMeasure(&writer, Number(GuardField::kLateNs), findings.late_ns);
  PutMeasure(&writer, Number(GuardField::kDebuggerPid), findings.debugger_pid);
}

void ReportEncoder::AddPastDispatch(const PastDispatchFields& dispatch) {
  FixedWriter writer(writer_, Number(ReportField::kHistory));
  PutText(&writer, Number(PastDispatchField::kTag), dispatch.tag);
  PutMeasure(&writer, Number(PastDispatchField::kAgeNs), dispatch.age_ns);
  PutMeasure(&writer, Number(PastDispatchField::kWallNs), dispatch.wall_ns);
  PutMeasure(&writer, Number(PastDispatchField::kCpuNs), dispatch.cpu_ns);
  PutMeasure(&writer, Number(PastDispatchField::kQueueWaitNs), dispatch.queue_wait_ns);
}

void ReportEncoder::AddNumber(std::string_view name, int64_t number) {
  FixedWriter writer(writer_, Number(ReportField::kFacts));
  PutText(&writer, Number(FactField::kName), name);
  writer.add_int64(Number(FactField::kNumber), number);
}

void ReportEncoder::AddText(std::string_view name, std::string_view text) {
  FixedWriter writer(writer_, Number(ReportField::kFacts));
  PutText(&writer, Number(FactField::kName), name);
  PutText(&writer, Number(FactField::kText), text);
}

void ReportEncoder::RewindTo(const Mark& mark) {
  buffer_->Rewind(mark.size_bytes);
  module_count_ = mark.module_count;
  stack_count_ = mark.stack_count;
}

bool EncodeLagEnd(const base::Uuid& report_id, int64_t duration_ns, FixedBuffer* buffer) {
  buffer->Clear();
  FixedWriter writer(*buffer);
  PutText(&writer, Number(LagEndField::kReportId), report_id.as_bytes());
  PutMeasure(&writer, Number(LagEndField::kDurationNs), duration_ns);
  return !buffer->overflowed();
}

bool EncodeFrameSlice(const FrameSliceFields& slice, FixedBuffer* buffer) {
  buffer->Clear();
  FixedWriter writer(*buffer);
  PutText(&writer, Number(FrameSliceField::kId), slice.id.as_bytes());
  PutText(&writer, Number(FrameSliceField::kSessionId), slice.session_id.as_bytes());
  PutText(&writer, Number(FrameSliceField::kApp), slice.app);
  PutText(&writer, Number(FrameSliceField::kAppVersion), slice.app_version);
  PutText(&writer, Number(FrameSliceField::kUser), slice.user);
  PutText(&writer, Number(FrameSliceField::kLoop), slice.loop);
  PutText(&writer, Number(FrameSliceField::kScene), slice.scene);
  PutMeasure(&writer, Number(FrameSliceField::kBeginWallMs), slice.begin_wall_ms);
  PutMeasure(&writer, Number(FrameSliceField::kDurationNs), slice.duration_ns);
  PutMeasure(&writer, Number(FrameSliceField::kRefreshIntervalNs), slice.refresh_interval_ns);
  PutNumber(&writer, Number(FrameSliceField::kFrameCount), slice.frames.frames);
  PutNumber(&writer, Number(FrameSliceField::kDropped), slice.frames.dropped);
  PutCounts(&writer, FrameSliceField::kFramesByLevel, slice.frames.by_level);
  PutCounts(&writer, FrameSliceField::kNsByStage, slice.frames.by_stage_ns);
  return !buffer->overflowed();
}

}  // namespace lagwatch::report
