// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/watchers.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/process/watched_process.h"
#include "sdk/monitor.h"
#include "sdk/outside/outside_watch.h"
#include "sdk/outside/return_counter.h"
#include "sdk/report/program_facts.h"
#include "sdk/run/run_facts.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t g_is_asked_to_end = 0;
volatile sig_atomic_t g_is_asked_to_reload = 0;

void AskToEnd(int) { g_is_asked_to_end = 1; }
void AskToReload(int) { g_is_asked_to_reload = 1; }

// Exit codes of a process that watches another one.
enum WatcherExit : int { kWatcherEnded = 0, kWatcherBecameOther = 3, kWatcherCannot = 4 };

// Five looks within the shortest dispatch that is reported: the thread may be back in its wait right after
// one.
int64_t IntervalNs(const WatchSettings& settings) {
  constexpr int64_t kShortestNs = 10 * base::kNsPerMs;
  const int64_t wanted_ns = settings.interval_ms * base::kNsPerMs;
  return std::min(wanted_ns, std::max(kShortestNs, settings.options.threshold_ms * base::kNsPerMs / 5));
}

std::unique_ptr<sdk::OutsideWatch> StartOrExit(const sdk::MonitorOptions& monitor,
                                               const sdk::OutsideOptions& outside, const std::string& label) {
  auto watch = sdk::OutsideWatch::Start(monitor, outside);
  if (watch.ok()) return std::move(*watch);
  std::cerr << "lagwatch: " << label << " is not watched: " << watch.status().message() << "\n";
  _exit(kWatcherCannot);
}

bool IsThere(pid_t pid) {
  std::error_code error;
  return !fs::read_symlink(ProcessFolder(pid) / "exe", error).empty();
}

int64_t WallMs() { return base::SystemClock().WallMs(); }

// Counts the reports of a watcher for its rule.
class QuotaUse {
 public:
  explicit QuotaUse(ReportQuota* quota) : quota_(quota) {}

  // Whether there is to be no more on this day.
  bool IsUsedUp(const sdk::OutsideWatch& watch) {
    if (quota_ == nullptr) return false;
    const uint64_t written = watch.monitor().watch_counters().reports.value();
    if (written != written_) quota_->Add(written - std::exchange(written_, written), WallMs());
    return quota_->IsUsedUp(WallMs());
  }

 private:
  ReportQuota* quota_;
  uint64_t written_ = 0;
};

[[noreturn]] void BecomeWatcher(const Target& target, pid_t parent, const WatchSettings& settings,
                                const sdk::KernelWaits* waits, const sdk::UnansweredWindows* unanswered) {
  signal(SIGHUP, SIG_IGN);  // its settings do not change
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kWatcherEnded);  // it has ended before it could say so
  const std::string label = target.name + " (" + std::to_string(target.pid) + ")";
  base::WatchFromOutside(target.pid);
  const sdk::OutsideOptions outside{.interval_ns = IntervalNs(settings),
                                    .threads = settings.threads,
                                    .takes_probable = settings.takes_probable,
                                    .is_chosen = settings.is_chosen,
                                    .waits = waits,
                                    .unanswered = unanswered};
  sdk::MonitorOptions monitor = sdk::ToMonitorOptions(settings.options);
  if (monitor.app.empty()) monitor.app = target.name;
  monitor.is_sent = !settings.options.endpoint.empty();
  if (const std::string unit = UnitOf(target.pid); !unit.empty())
    sdk::ProcessWords().values.Set("unit", unit.c_str());
  auto watch = StartOrExit(monitor, outside, label);
  QuotaUse quota(settings.quota.get());
  bool goes_on = true;
  int64_t next_ns = base::SystemClock().MonoNs();
  while (g_is_asked_to_end == 0 && (goes_on = watch->Poll())) {
    if (quota.IsUsedUp(*watch)) {
      std::cerr << "lagwatch: " << label
                << " is not watched until tomorrow (UTC): its rule's quota is used up\n";
      break;
    }
    next_ns = std::max(next_ns + outside.interval_ns, base::SystemClock().MonoNs());
    SleepNs(next_ns - base::SystemClock().MonoNs());
  }
  const bool is_there = IsThere(target.pid);
  watch.reset();
  _exit(!goes_on && is_there ? kWatcherBecameOther : kWatcherEnded);
}

}  // namespace

void HandleWatchSignals(bool can_reload) {
  struct sigaction action {};
  action.sa_handler = &AskToEnd;
  for (int signal_number : {SIGINT, SIGTERM}) sigaction(signal_number, &action, nullptr);
  if (can_reload) action.sa_handler = &AskToReload;
  sigaction(SIGHUP, &action, nullptr);
}

bool IsAskedToEnd() { return g_is_asked_to_end != 0; }

bool TakeReloadRequest() {
  const bool is_asked = g_is_asked_to_reload != 0;
  if (is_asked) g_is_asked_to_reload = 0;
  return is_asked;
}

void SleepNs(int64_t ns) {
  const timespec time{.tv_sec = ns / base::kNsPerSecond, .tv_nsec = ns % base::kNsPerSecond};
  nanosleep(&time, nullptr);
}

base::Status Watchers::AskKernel() {
  kernel_waits_ = LAGWATCH_TRY(sdk::KernelWaits::Load());
  return {};
}

void Watchers::SayHowReturnsAreCounted() const {
  using Way = sdk::ReturnCounter::Way;
  const Way way = sdk::ReturnCounter::WayHere();
  if (is_quiet_ || kernel_waits_ != nullptr || way == Way::kBreakpoint) return;
  if (way == Way::kTracepoint) {
    std::cerr << "lagwatch: breakpoints do not work on this machine; while a loop is busy, tracepoints make "
                 "each system call of the machine up to 0.07 µs slower\n";
  } else {
    std::cerr
        << "lagwatch: returns of a loop's wait cannot be counted here (root may, and others "
           "with kernel.perf_event_paranoid of 2 or less): a thread that sleeps and computes in turns is not "
           "reported, and one that computes may only be busy\n";
  }
}

void Watchers::Add(const Target& target, const WatchSettings& settings) {
  const bool is_known =
      std::ranges::any_of(watched_, [&](const Watched& watched) { return watched.target.IsSameAs(target); });
  if (is_known || (settings.quota != nullptr && settings.quota->IsUsedUp(WallMs()))) return;
  if (HasWatchdog(target.pid)) {
    Say(target, "has a watchdog of its own");
    watched_.push_back({target, 0});
    return;
  }
  if (running_count() >= most_) {
    if (!std::exchange(has_said_full_, true))
      std::cerr << "lagwatch: more than " << most_ << " processes: see most-processes\n";
    return;
  }
  Start(target, settings);
}

void Watchers::Remove(const Target& target) {
  const auto found =
      std::ranges::find_if(watched_, [&](const Watched& watched) { return watched.target.IsSameAs(target); });
  if (found == watched_.end()) return;
  if (found->watcher != 0) {
    kill(found->watcher, SIGTERM);
    while (waitpid(found->watcher, nullptr, 0) < 0 && errno == EINTR) {
    }
    Say(target, "is no longer watched");
  }
  watched_.erase(found);
}

bool Watchers::Reap() {
  int status = 0;
  bool is_other = false;
  for (pid_t watcher; (watcher = waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = std::ranges::find(watched_, watcher, &Watched::watcher);
    if (found == watched_.end()) continue;
    found->watcher = 0;
    const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : kWatcherCannot;
    has_failed_ |= exit == kWatcherCannot;
    if (exit == kWatcherCannot) continue;
    watched_.erase(found);
    is_other |= exit == kWatcherBecameOther;
  }
  std::erase_if(watched_, [](const Watched& watched) {
    const auto pid = static_cast<uint32_t>(watched.target.pid);
    return watched.watcher == 0 && sdk::ProcessStartTicks(pid) != watched.target.start_ticks;
  });
  return is_other;
}

std::vector<Target> Watchers::targets() const {
  std::vector<Target> targets;
  for (const Watched& watched : watched_) targets.push_back(watched.target);
  return targets;
}

size_t Watchers::running_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(watched_, [](const Watched& watched) { return watched.watcher != 0; }));
}

void Watchers::EndAll() {
  for (const Watched& watched : watched_)
    if (watched.watcher != 0) kill(watched.watcher, SIGTERM);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

void Watchers::Say(const Target& target, const char* text) const {
  if (!is_quiet_) std::cerr << "lagwatch: " << target.name << " (" << target.pid << ") " << text << "\n";
}

void Watchers::Start(const Target& target, const WatchSettings& settings) {
  const pid_t parent = getpid();
  const pid_t watcher = fork();
  if (watcher == 0) BecomeWatcher(target, parent, settings, kernel_waits_.get(), unanswered_.get());
  if (watcher < 0) return Say(target, "is not watched: no process could be started");
  watched_.push_back({target, watcher});
  Say(target, "is watched from outside");
}

}  // namespace lagwatch::tools
