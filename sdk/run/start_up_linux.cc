// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "policies/exit_reason.h"
#include "sdk/run/start_up.h"

namespace lagwatch::sdk {
namespace {

constinit StartUp g_start_up;

const int64_t g_library_load_ns = base::SystemClock().MonoNs();

// The kernel counts a process's start on the clock that goes on while the machine sleeps; a sleep since then
// would make it too early.
int64_t ProcessStartNs(uint64_t start_ticks) {
  const base::Clock& clock = base::SystemClock();
  const int64_t ticks_per_second = std::max<int64_t>(sysconf(_SC_CLK_TCK), 1);
  const int64_t start_boot_ns = static_cast<int64_t>(start_ticks) * (base::kNsPerSecond / ticks_per_second);
  return clock.MonoNs() - (clock.BootNs() - start_boot_ns);
}

bool IsWarm(const StartOptions& options, const RunFacts& now, const RunRecord* last_run) {
  if (options.kind != LW_START_WATCHED) return options.kind == LW_START_WARM;
  if (last_run == nullptr) return false;
  const RunFacts& then = last_run->run;
  return policies::IsWarmStart({.is_same_boot = then.boot_id == now.boot_id && now.boot_id != base::Uuid{},
                                .is_same_build = then.build_id == now.build_id && !now.build_id.empty(),
                                .since_last_seen_ms = base::SystemClock().WallMs() - last_run->seen_wall_ms});
}

// The earliest, of those that are not 0.
template <typename Time>
int64_t FirstOf(watchdog::LoopRegistry* registry, Time time_of) {
  int64_t first_ns = 0;
  const watchdog::LoopRegistry::Places places = registry->places();
  for (const watchdog::WatchedLoop& loop : places) {
    int64_t ns = time_of(loop);
    if (ns != 0 && (first_ns == 0 || ns < first_ns)) first_ns = ns;
  }
  return first_ns;
}

}  // namespace

StartUp& ProcessStartUp() { return g_start_up; }

StartPlan PlanStart(const StartOptions& options, const RunFacts& now, const RunRecord* last_run) {
  StartPlan plan;
  if (options.kind == LW_START_UNWATCHED || now.start_ticks == 0) return plan;
  plan.is_warm = IsWarm(options, now, last_run);
  plan.threshold_ns = plan.is_warm ? options.warm_threshold_ns : options.cold_threshold_ns;
  plan.process_start_ns = ProcessStartNs(now.start_ticks);
  plan.monitor_start_ns = base::SystemClock().MonoNs();
  return plan;
}

int64_t LibraryLoadNs() { return g_library_load_ns; }

int64_t FirstDispatchNs(watchdog::LoopRegistry* registry) {
  return FirstOf(registry, [](const watchdog::WatchedLoop& loop) { return loop.probe.first_begin_ns(); });
}

int64_t FirstFrameNs(watchdog::LoopRegistry* registry) {
  return FirstOf(registry, [](const watchdog::WatchedLoop& loop) { return loop.frames.first_end_ns(); });
}

}  // namespace lagwatch::sdk
