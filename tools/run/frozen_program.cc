// SPDX-License-Identifier: Apache-2.0
#include "tools/run/frozen_program.h"

#include <ctime>

#include "base/clock.h"
#include "sdk/outside/outside_watch.h"
#include "tools/containers.h"
#include "tools/process_files.h"
#include "tools/run/target_spool.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kBetweenLooksNs = 20 * base::kNsPerMs;

void AwaitNextLook() {
  const timespec time{.tv_sec = 0, .tv_nsec = kBetweenLooksNs};
  nanosleep(&time, nullptr);
}

int64_t NowNs() { return base::SystemClock().MonoNs(); }

bool IsReported(const sdk::OutsideWatch& watch) {
  return watch.monitor()->watch_counters().reports.value() != 0;
}

}  // namespace

FrozenProgram ReportIfFrozen(pid_t pid, const WatchFlags& flags, const std::string& threads) {
  constexpr int64_t kLongestNs = 3 * base::kNsPerSecond;
  auto looked = sdk::OutsideWatch::Look(base::Process::Other(pid), {.threads = threads, .is_chosen = true});
  if (!looked.ok()) return {};
  sdk::OutsideWatch& watch = **looked;
  for (int i = 0; i < 2; ++i) {
    AwaitNextLook();
    if (!watch.Poll()) return {};
  }
  const int64_t since_ns = watch.FrozenSinceNs();
  const int64_t frozen_ns = since_ns == 0 ? 0 : NowNs() - since_ns;
  if (frozen_ns < flags.options.threshold_ms * base::kNsPerMs) return {};
  sdk::MonitorOptions monitor = sdk::ToMonitorOptions(flags.options);
  if (monitor.app.empty()) monitor.app = CommandOf(pid);
  monitor.spool_directory = PathSeenFromHere(pid, flags.options.spool_directory);
  if (IsOtherUsers(pid) || !watch.Report(monitor).ok()) return {.frozen_ns = frozen_ns};
  const int64_t deadline_ns = NowNs() + kLongestNs;
  while (!IsReported(watch) && NowNs() < deadline_ns && watch.Poll()) AwaitNextLook();
  return {.frozen_ns = frozen_ns, .is_reported = IsReported(watch)};
}

}  // namespace lagwatch::tools
