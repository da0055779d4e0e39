// SPDX-License-Identifier: Apache-2.0
// The fields of a report's parts, once for the encoder and the decoder, with their numbers in lagwatch.proto.
// A table is called as table(part, visit): it calls visit(number, member) for the fields of `part`, in the
// order in which they are written, until a call returns true, and returns whether one did. Members whose form
// on the wire differs are wrapped. Internal to report/format.
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
  return visit(1, part.id) || visit(2, part.session_id) || visit(3, part.hang_id) || visit(4, part.ordinal) ||
         visit(5, part.app) || visit(6, part.app_version) || visit(7, part.user) || visit(8, part.os) ||
         visit(9, part.machine) || visit(10, part.pid) || visit(11, part.tid) || visit(12, part.loop) ||
         visit(13, part.tag) || visit(14, part.kind) || visit(28, part.level) ||
         visit(15, part.threshold_ms) || visit(16, part.start_wall_ms) || visit(17, part.elapsed_ns) ||
         visit(35, part.distribution);
};

inline constexpr auto kCpuTable = [](auto& part, auto visit) {
  return visit(1, part.cpu_window_ns) || visit(2, part.cpu_thread_ns) || visit(3, part.cpu_process_ns);
};

// The other fields of a report, without the messages within it.
inline constexpr auto kReportTable = [](auto& part, auto visit) {
  return visit(22, Always{part.expensive_stack}) || visit(25, part.threads_dropped) ||
         visit(27, part.wait_outcome) || visit(33, part.sample_rate_ppm) || visit(34, Fixed{part.cause});
};

inline constexpr auto kModuleTable = [](auto& part, auto visit) {
  return visit(1, part.path) || visit(2, part.build_id) || visit(3, part.load_bias);
};

inline constexpr auto kSampleTable = [](auto& part, auto visit) {
  return visit(1, Always{part.age_ns}) || visit(2, Always{part.stack}) || visit(3, part.use.cpu_ns) ||
         visit(4, part.use.minor_faults) || visit(5, part.use.major_faults) ||
         visit(6, part.use.voluntary_switches) || visit(7, part.use.involuntary_switches) ||
         visit(8, part.wall_ns) || visit(9, part.calls);
};

inline constexpr auto kThreadTable = [](auto& part, auto visit) {
  return visit(1, part.tid) || visit(2, part.name) || visit(3, part.state) || visit(4, PlusOne{part.stack}) ||
         visit(5, part.cpu_ns) || visit(6, part.wait_channel) || visit(7, PlusOne{part.syscall_number});
};

inline constexpr auto kWaitTable = [](auto& part, auto visit) {
  return visit(1, part.tid) || visit(2, PlusOne{part.stack}) || visit(3, part.lock.address) ||
         visit(4, part.lock.kind) || visit(5, part.lock.waits_for) || visit(6, part.lock.has_timeout) ||
         visit(7, part.lock.owner_tid) || visit(8, part.owner_name) || visit(9, PlusOne{part.owner_stack}) ||
         visit(10, part.pid) || visit(11, part.owner_pid) || visit(12, part.owner_process) ||
         visit(13, part.owner_state) || visit(14, part.is_owner_idle) || visit(15, part.owner_session_id);
};

inline constexpr auto kVerdictTable = [](auto& part, auto visit) {
  auto& use = part.use;
  if (visit(1, part.word) || visit(2, part.shares.wall_ns)) return true;
  for (const policies::TimeShare& share : policies::kTimeShares)
    if (visit(share.field, part.shares.*share.ns)) return true;
  return visit(17, use.cpu_ns) || visit(13, use.minor_faults) || visit(14, use.major_faults) ||
         visit(15, use.voluntary_switches) || visit(16, use.involuntary_switches);
};

inline constexpr auto kDiscountTable = [](auto& part, auto visit) {
  return visit(1, part.suspended_ns) || visit(2, part.stopped_ns) || visit(3, part.late_ns) ||
         visit(4, part.debugger_pid);
};

inline constexpr auto kPastDispatchTable = [](auto& part, auto visit) {
  return visit(1, part.tag) || visit(2, part.age_ns) || visit(3, part.wall_ns) || visit(4, part.cpu_ns) ||
         visit(5, part.queue_wait_ns);
};

inline constexpr auto kFactTable = [](auto& part, auto visit) {
  return visit(1, part.name) || visit(2, Signed{part.number}) || visit(3, part.text);
};

inline constexpr auto kSymbolTable = [](auto& part, auto visit) {
  return visit(1, PlusOne{part.module}) || visit(2, part.function_offset) || visit(3, part.name);
};

inline constexpr auto kFrameSliceTable = [](auto& part, auto visit) {
  return visit(1, part.id) || visit(2, part.session_id) || visit(3, part.app) || visit(4, part.app_version) ||
         visit(5, part.user) || visit(6, part.loop) || visit(7, part.scene) || visit(8, part.begin_wall_ms) ||
         visit(9, part.duration_ns) || visit(10, part.refresh_interval_ns) || visit(11, part.frames.frames) ||
         visit(12, part.frames.dropped) || visit(13, part.frames.by_level) ||
         visit(14, part.frames.by_stage_ns) || visit(15, part.sample_rate_ppm);
};

inline constexpr auto kUsageHeaderTable = [](auto& part, auto visit) {
  return visit(1, part.id) || visit(2, part.session_id) || visit(3, part.app) || visit(4, part.app_version) ||
         visit(5, part.user) || visit(6, part.begin_wall_ms) || visit(7, part.end_wall_ms) ||
         visit(11, part.sample_rate_ppm);
};

inline constexpr auto kLoopUsageTable = [](auto& part, auto visit) {
  auto& usage = part.usage;
  return visit(1, part.loop) || visit(2, usage.watched_ns) || visit(3, usage.dispatches) ||
         visit(4, usage.untimed_dispatches) || visit(5, usage.hangs) || visit(6, usage.hang_ns) ||
         visit(7, usage.durations) || visit(8, usage.background.watched_ns) ||
         visit(9, usage.background.hangs) || visit(10, usage.background.hang_ns);
};

inline constexpr auto kSlowTagTable = [](auto& part, auto visit) {
  auto& dispatches = part.dispatches;
  return visit(1, part.loop) || visit(2, part.tag) || visit(3, dispatches.count) ||
         visit(4, dispatches.total_ns) || visit(5, dispatches.longest_ns) || visit(6, dispatches.durations);
};

inline constexpr auto kSuppressedTable = [](auto& part, auto visit) {
  return visit(1, part.reason) || visit(2, part.count);
};

inline constexpr auto kHangEndTable = [](auto& part, auto visit) {
  return visit(1, part.report_id) || visit(2, part.duration_ns);
};

inline constexpr auto kRunEndTable = [](auto& part, auto visit) {
  return visit(1, part.session_id) || visit(2, part.reason) || visit(3, part.signal) ||
         visit(4, part.report_id) || visit(5, part.hang_ns) || visit(6, part.loop) ||
         visit(7, part.run_start_wall_ms) || visit(8, part.last_seen_wall_ms) || visit(9, part.scene) ||
         visit(10, part.app) || visit(11, part.app_version) || visit(12, part.user) ||
         visit(13, part.sample_rate_ppm);
};

inline constexpr auto kTraceRecordTable = [](auto& part, auto visit) {
  return visit(1, part.id) || visit(2, part.session_id) || visit(3, part.report_id) ||
         visit(4, part.hang_id) || visit(5, part.app) || visit(6, part.app_version) || visit(7, part.user) ||
         visit(8, part.begin_wall_ms) || visit(9, part.duration_ns) || visit(10, part.reason) ||
         visit(11, part.trace) || visit(12, part.sample_rate_ppm) || visit(13, Fixed{part.cause});
};

// All fields except the list.
inline constexpr auto kLossesTable = [](auto& part, auto visit) {
  return visit(1, part.id) || visit(2, part.app) || visit(3, part.app_version) || visit(4, part.user) ||
         visit(5, part.begin_wall_ms) || visit(6, part.end_wall_ms);
};

inline constexpr auto kLossTable = [](auto& part, auto visit) {
  return visit(1, Always{part.reason}) || visit(2, Fixed{part.cause}) || visit(3, Always{part.count}) ||
         visit(4, part.sample_rate_ppm);
};

}  // namespace lagwatch::report
