// SPDX-License-Identifier: Apache-2.0
// The fields of a report's parts, once for the encoder and the decoder. A table is called as table(part,
// visit): it calls visit(field, member) for the fields of `part`, in the order in which they are written,
// until a call returns true, and returns whether one did. Members whose form on the wire differs are wrapped.
// Internal to report/format.
#pragma once

#include <cstdint>

#include "policies/verdict.h"
#include "report/format/fields.h"

namespace lagwatch::report {

// On the wire, `number` is larger by one: 0 stands for kNoStack, kNoModule or -1.
template <typename Number>
struct PlusOne {
  Number& number;
};
template <typename Number>
PlusOne(Number&) -> PlusOne<Number>;

// Written even when it is zero: protozero drops a nested message that stays empty.
template <typename Number>
struct Always {
  Number& number;
};
template <typename Number>
Always(Number&) -> Always<Number>;

// On the wire, 8 bytes of fixed size.
template <typename Number>
struct Fixed {
  Number& number;
};
template <typename Number>
Fixed(Number&) -> Fixed<Number>;

// May be negative.
template <typename Number>
struct Signed {
  Number& number;
};
template <typename Number>
Signed(Number&) -> Signed<Number>;

inline constexpr auto kHeaderTable = [](auto& part, auto visit) {
  using enum ReportField;
  return visit(kId, part.id) || visit(kSessionId, part.session_id) || visit(kHangId, part.hang_id) ||
         visit(kOrdinal, part.ordinal) || visit(kApp, part.app) || visit(kAppVersion, part.app_version) ||
         visit(kUser, part.user) || visit(kOs, part.os) || visit(kMachine, part.machine) ||
         visit(kPid, part.pid) || visit(kTid, part.tid) || visit(kLoop, part.loop) || visit(kTag, part.tag) ||
         visit(kKind, part.kind) || visit(kLevel, part.level) || visit(kThresholdMs, part.threshold_ms) ||
         visit(kStartWallMs, part.start_wall_ms) || visit(kElapsedNs, part.elapsed_ns) ||
         visit(kDistribution, part.distribution);
};

inline constexpr auto kCpuTable = [](auto& part, auto visit) {
  using enum CpuField;
  return visit(kWindowNs, part.cpu_window_ns) || visit(kThreadNs, part.cpu_thread_ns) ||
         visit(kProcessNs, part.cpu_process_ns);
};

// The other fields of a report, without the messages within it.
inline constexpr auto kReportTable = [](auto& part, auto visit) {
  using enum ReportField;
  return visit(kExpensiveStack, Always{part.expensive_stack}) ||
         visit(kThreadsDropped, part.threads_dropped) || visit(kWaitOutcome, part.wait_outcome) ||
         visit(kSampleRatePpm, part.sample_rate_ppm) || visit(kCause, Fixed{part.cause});
};

inline constexpr auto kModuleTable = [](auto& part, auto visit) {
  using enum ModuleField;
  return visit(kPath, part.path) || visit(kBuildId, part.build_id) || visit(kLoadBias, part.load_bias);
};

inline constexpr auto kSampleTable = [](auto& part, auto visit) {
  using enum SampleField;
  return visit(kAgeNs, Always{part.age_ns}) || visit(kStack, Always{part.stack}) ||
         visit(kUsedCpuNs, part.use.cpu_ns) || visit(kUsedMinorFaults, part.use.minor_faults) ||
         visit(kUsedMajorFaults, part.use.major_faults) ||
         visit(kUsedVoluntarySwitches, part.use.voluntary_switches) ||
         visit(kUsedInvoluntarySwitches, part.use.involuntary_switches) || visit(kWallNs, part.wall_ns) ||
         visit(kCalls, part.calls);
};

inline constexpr auto kThreadTable = [](auto& part, auto visit) {
  using enum ThreadField;
  return visit(kTid, part.tid) || visit(kName, part.name) || visit(kState, part.state) ||
         visit(kStack, PlusOne{part.stack}) || visit(kCpuNs, part.cpu_ns) ||
         visit(kWaitChannel, part.wait_channel) || visit(kSyscall, PlusOne{part.syscall_number});
};

inline constexpr auto kWaitTable = [](auto& part, auto visit) {
  using enum WaitField;
  return visit(kTid, part.tid) || visit(kStack, PlusOne{part.stack}) || visit(kLock, part.lock.address) ||
         visit(kKind, part.lock.kind) || visit(kWaitsFor, part.lock.waits_for) ||
         visit(kHasTimeout, part.lock.has_timeout) || visit(kOwnerTid, part.lock.owner_tid) ||
         visit(kOwnerName, part.owner_name) || visit(kOwnerStack, PlusOne{part.owner_stack}) ||
         visit(kPid, part.pid) || visit(kOwnerPid, part.owner_pid) ||
         visit(kOwnerProcess, part.owner_process) || visit(kOwnerState, part.owner_state) ||
         visit(kIsOwnerIdle, part.is_owner_idle) || visit(kOwnerSessionId, part.owner_session_id);
};

inline constexpr auto kVerdictTable = [](auto& part, auto visit) {
  using enum VerdictField;
  auto& use = part.use;
  if (visit(kWord, part.word) || visit(kWallNs, part.shares.wall_ns)) return true;
  for (const policies::TimeShare& share : policies::kTimeShares)
    if (visit(VerdictField{share.field}, part.shares.*share.ns)) return true;
  return visit(kCpuNs, use.cpu_ns) || visit(kMinorFaults, use.minor_faults) ||
         visit(kMajorFaults, use.major_faults) || visit(kVoluntarySwitches, use.voluntary_switches) ||
         visit(kInvoluntarySwitches, use.involuntary_switches);
};

inline constexpr auto kDiscountTable = [](auto& part, auto visit) {
  using enum DiscountField;
  return visit(kSuspendedNs, part.suspended_ns) || visit(kStoppedNs, part.stopped_ns) ||
         visit(kLateNs, part.late_ns) || visit(kDebuggerPid, part.debugger_pid);
};

inline constexpr auto kPastDispatchTable = [](auto& part, auto visit) {
  using enum PastDispatchField;
  return visit(kTag, part.tag) || visit(kAgeNs, part.age_ns) || visit(kWallNs, part.wall_ns) ||
         visit(kCpuNs, part.cpu_ns) || visit(kQueueWaitNs, part.queue_wait_ns);
};

inline constexpr auto kFactTable = [](auto& part, auto visit) {
  using enum FactField;
  return visit(kName, part.name) || visit(kNumber, Signed{part.number}) || visit(kText, part.text);
};

inline constexpr auto kSymbolTable = [](auto& part, auto visit) {
  using enum SymbolField;
  return visit(kModule, PlusOne{part.module}) || visit(kFunctionOffset, part.function_offset) ||
         visit(kName, part.name);
};

inline constexpr auto kFrameSliceTable = [](auto& part, auto visit) {
  using enum FrameSliceField;
  return visit(kId, part.id) || visit(kSessionId, part.session_id) || visit(kApp, part.app) ||
         visit(kAppVersion, part.app_version) || visit(kUser, part.user) || visit(kLoop, part.loop) ||
         visit(kScene, part.scene) || visit(kBeginWallMs, part.begin_wall_ms) ||
         visit(kDurationNs, part.duration_ns) || visit(kRefreshIntervalNs, part.refresh_interval_ns) ||
         visit(kFrameCount, part.frames.frames) || visit(kDropped, part.frames.dropped) ||
         visit(kFramesByLevel, part.frames.by_level) || visit(kNsByStage, part.frames.by_stage_ns) ||
         visit(kSampleRatePpm, part.sample_rate_ppm);
};

inline constexpr auto kUsageHeaderTable = [](auto& part, auto visit) {
  using enum UsageField;
  return visit(kId, part.id) || visit(kSessionId, part.session_id) || visit(kApp, part.app) ||
         visit(kAppVersion, part.app_version) || visit(kUser, part.user) ||
         visit(kBeginWallMs, part.begin_wall_ms) || visit(kEndWallMs, part.end_wall_ms) ||
         visit(kSampleRatePpm, part.sample_rate_ppm);
};

inline constexpr auto kLoopUsageTable = [](auto& part, auto visit) {
  using enum LoopUsageField;
  auto& usage = part.usage;
  return visit(kLoop, part.loop) || visit(kWatchedNs, usage.watched_ns) ||
         visit(kDispatches, usage.dispatches) || visit(kUntimedDispatches, usage.untimed_dispatches) ||
         visit(kHangs, usage.hangs) || visit(kHangNs, usage.hang_ns) || visit(kDurations, usage.durations) ||
         visit(kBackgroundWatchedNs, usage.background.watched_ns) ||
         visit(kBackgroundHangs, usage.background.hangs) ||
         visit(kBackgroundHangNs, usage.background.hang_ns);
};

inline constexpr auto kSlowTagTable = [](auto& part, auto visit) {
  using enum SlowTagField;
  auto& dispatches = part.dispatches;
  return visit(kLoop, part.loop) || visit(kTag, part.tag) || visit(kCount, dispatches.count) ||
         visit(kTotalNs, dispatches.total_ns) || visit(kLongestNs, dispatches.longest_ns) ||
         visit(kDurations, dispatches.durations);
};

inline constexpr auto kSuppressedTable = [](auto& part, auto visit) {
  using enum SuppressedField;
  return visit(kReason, part.reason) || visit(kCount, part.count);
};

inline constexpr auto kHangEndTable = [](auto& part, auto visit) {
  using enum HangEndField;
  return visit(kReportId, part.report_id) || visit(kDurationNs, part.duration_ns);
};

inline constexpr auto kRunEndTable = [](auto& part, auto visit) {
  using enum RunEndField;
  return visit(kSessionId, part.session_id) || visit(kReason, part.reason) || visit(kSignal, part.signal) ||
         visit(kReportId, part.report_id) || visit(kHangNs, part.hang_ns) || visit(kLoop, part.loop) ||
         visit(kRunStartWallMs, part.run_start_wall_ms) || visit(kLastSeenWallMs, part.last_seen_wall_ms) ||
         visit(kScene, part.scene) || visit(kApp, part.app) || visit(kAppVersion, part.app_version) ||
         visit(kUser, part.user) || visit(kSampleRatePpm, part.sample_rate_ppm);
};

inline constexpr auto kTraceRecordTable = [](auto& part, auto visit) {
  using enum TraceRecordField;
  return visit(kId, part.id) || visit(kSessionId, part.session_id) || visit(kReportId, part.report_id) ||
         visit(kHangId, part.hang_id) || visit(kApp, part.app) || visit(kAppVersion, part.app_version) ||
         visit(kUser, part.user) || visit(kBeginWallMs, part.begin_wall_ms) ||
         visit(kDurationNs, part.duration_ns) || visit(kReason, part.reason) || visit(kTrace, part.trace) ||
         visit(kSampleRatePpm, part.sample_rate_ppm) || visit(kCause, Fixed{part.cause});
};

// All fields except the list.
inline constexpr auto kLossesTable = [](auto& part, auto visit) {
  using enum LossesField;
  return visit(kId, part.id) || visit(kApp, part.app) || visit(kAppVersion, part.app_version) ||
         visit(kUser, part.user) || visit(kBeginWallMs, part.begin_wall_ms) ||
         visit(kEndWallMs, part.end_wall_ms);
};

inline constexpr auto kLossTable = [](auto& part, auto visit) {
  using enum LossField;
  return visit(kReason, Always{part.reason}) || visit(kCause, Fixed{part.cause}) ||
         visit(kCount, Always{part.count}) || visit(kSampleRatePpm, part.sample_rate_ppm);
};

}  // namespace lagwatch::report
