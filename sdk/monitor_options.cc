// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "base/clock.h"
#include "policies/expensive_stack.h"
#include "report/spool/spool_writer.h"
#include "sdk/monitor.h"
#include "sdk/run/start_up.h"
#include "sdk/trace/trace_options.h"
#include "watchdog/loops/watch_options.h"

namespace lagwatch::sdk {
namespace {

using base::kNsPerMs;
using base::kNsPerSecond;

using report::SyncPolicy;
static_assert(LW_SPOOL_SYNC_NEVER == static_cast<int>(SyncPolicy::kNever) &&
              LW_SPOOL_SYNC_HANGS == static_cast<int>(SyncPolicy::kHangStartAndEnd) &&
              LW_SPOOL_SYNC_ALL == static_cast<int>(SyncPolicy::kEveryRecord));

using policies::ExpensiveStackRule;

TraceOptions ToTraceOptions(const Options& options) {
  const lagwatch::TraceOptions& given = options.trace;
  TraceOptions trace;
  trace.is_on = given.is_on;
  trace.reports_slow = options.slow.is_reported;
  trace.interval_ns = given.interval_ms * kNsPerMs;
  trace.has_hooks = given.has_hooks;
  trace.before_ns = given.before_s * kNsPerSecond;
  trace.slow_ns = given.slow_ms * kNsPerMs;
  trace.buffer_bytes = uint64_t{given.buffer_kib} << 10;
  trace.max_bytes = uint64_t{given.max_kib} << 10;
  trace.patched_modules = given.patch;
  trace.rules_file = given.rules;
  return trace;
}

watchdog::CpuOptions ToCpuOptions(const lagwatch::CpuOptions& given) {
  watchdog::CpuOptions cpu;
  cpu.is_watched = given.is_watched;
  cpu.percent = static_cast<int32_t>(given.percent);
  cpu.average_percent = static_cast<int32_t>(given.average_percent);
  cpu.background_percent = static_cast<int32_t>(given.background_percent);
  cpu.window_ns = given.window_ms * kNsPerMs;
  return cpu;
}

watchdog::WatchOptions ToWatchOptions(const Options& options) {
  const DetectionOptions& given = options.detection;
  watchdog::WatchOptions watch;
  watch.threshold_ns = options.threshold_ms * kNsPerMs;
  watch.anr_threshold_ns = options.anr_threshold_ms * kNsPerMs;
  watch.idle_handler_threshold_ns = given.idle_handler_threshold_ms * kNsPerMs;
  watch.input_threshold_ns = given.input_threshold_ms * kNsPerMs;
  watch.slow_frame_ns = given.slow_frame_ms * kNsPerMs;
  watch.slow_dispatch_ns = options.slow.dispatch_ms * kNsPerMs;
  watch.sensitive_ns = given.sensitive_ms * kNsPerMs;
  watch.usage_period_ns = given.usage_period_s * kNsPerSecond;
  watch.check_period_ns = given.check_period_ms * kNsPerMs;
  watch.sample_interval_ns = given.sample_interval_ms * kNsPerMs;
  watch.ring_size = static_cast<int32_t>(given.ring_size);
  watch.expensive_stack_rule =
      given.expensive == LW_EXPENSIVE_LEAF ? ExpensiveStackRule::kLeaf : ExpensiveStackRule::kPath;
  watch.dump_interval_ns = options.dump.interval_ms * kNsPerMs;
  watch.io = {given.io_watch_ms * kNsPerMs, given.io_watch_calls};
  watch.cpu = ToCpuOptions(options.cpu);
  return watch;
}

}  // namespace

MonitorOptions ToMonitorOptions(const Options& options) {
  MonitorOptions monitor;
  monitor.app = options.app;
  monitor.app_version = options.app_version;
  monitor.user = options.user;
  monitor.spool_directory = options.spool_directory;
  monitor.scrub_patterns = options.privacy.scrub_tags;
  monitor.usage_keys = options.detection.usage_keys;
  monitor.spool_sync = static_cast<SyncPolicy>(options.process.spool_sync);
  monitor.is_sent = !options.endpoint.empty() || options.upload.transport.post != nullptr;
  monitor.watch = ToWatchOptions(options);
  monitor.capture.signal_number = options.process.capture_signal;
  monitor.trace = ToTraceOptions(options);
  monitor.seccomp_is_allowed = options.process.seccomp_allows_lagwatch;
  monitor.dump_signal = options.dump.signal;
  monitor.feeds_service = options.process.feed_systemd;
  monitor.watch.hides_peers = options.process.hide_peers;
  monitor.start = {.kind = options.start.kind,
                   .cold_threshold_ns = options.start.cold_ms * kNsPerMs,
                   .warm_threshold_ns = options.start.warm_ms * kNsPerMs};
  return monitor;
}

}  // namespace lagwatch::sdk
