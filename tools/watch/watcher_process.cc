// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/watcher_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "sdk/monitor.h"
#include "sdk/report/program_facts.h"
#include "tools/process_files.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

volatile sig_atomic_t g_is_asked_to_end = 0;
volatile sig_atomic_t g_is_asked_to_reload = 0;

void AskToEnd(int) { g_is_asked_to_end = 1; }
void AskToReload(int) { g_is_asked_to_reload = 1; }

bool IsThere(pid_t pid) {
  std::error_code error;
  return !std::filesystem::read_symlink(ProcessFolder(pid) / "exe", error).empty();
}

int64_t NowNs() { return base::SystemClock().MonoNs(); }
int64_t WallMs() { return base::SystemClock().WallMs(); }

// Counts the reports of a watcher for its program's quota.
class QuotaUse {
 public:
  explicit QuotaUse(ReportCount* count) : count_(count) {}

  // Whether there is to be no more on this day.
  bool IsUsedUp(const sdk::OutsideWatch& watch) {
    if (count_ == nullptr) return false;
    const uint64_t written = watch.monitor()->watch_counters().reports.value();
    if (written != written_) count_->Add(written - std::exchange(written_, written), WallMs());
    return count_->IsUsedUp(WallMs());
  }

 private:
  ReportCount* count_;
  uint64_t written_ = 0;
};

// Returns the exit code.
int Watch(WatcherTask* task, const std::string& label) {
  constexpr int64_t kCalmNs = 10 * base::kNsPerSecond;
  QuotaUse quota(task->reports);
  const int64_t interval_ns = task->settings->IntervalNs();
  int64_t suspicious_ns = NowNs();
  int64_t next_ns = suspicious_ns;
  while (g_is_asked_to_end == 0) {
    if (!task->watch->Poll()) return IsThere(task->target->pid) ? kWatcherBecameOther : kWatcherEnded;
    if (quota.IsUsedUp(*task->watch)) {
      std::cerr << "lagwatch: " << label
                << " is not watched until tomorrow (UTC): its rule's quota is used up\n";
      return kWatcherEnded;
    }
    if (task->watch->is_suspicious()) suspicious_ns = NowNs();
    if (task->ends_when_calm && NowNs() - suspicious_ns > kCalmNs) return kWatcherCalm;
    next_ns = std::max(next_ns + interval_ns, NowNs());
    SleepNs(next_ns - NowNs());
  }
  return kWatcherEnded;
}

[[noreturn]] void BecomeWatcher(WatcherTask* task, pid_t parent) {
  signal(SIGHUP, SIG_IGN);  // its settings do not change
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kWatcherEnded);  // it has ended before it could say so
  const Target& target = *task->target;
  sdk::MonitorOptions monitor = sdk::ToMonitorOptions(task->settings->options);
  if (monitor.app.empty()) monitor.app = target.name;
  monitor.is_sent = !task->settings->options.endpoint.empty();
  if (const std::string unit = UnitOf(target.pid); !unit.empty())
    sdk::ProcessContext().values.Set("unit", unit.c_str());
  const std::string label = LabelOf(target);
  if (base::Status status = task->watch->Report(monitor); !status.ok()) {
    std::cerr << "lagwatch: " << label << " is not watched: " << Printable(status.message()) << "\n";
    _exit(kWatcherCannot);
  }
  const int code = Watch(task, label);
  task->watch.reset();
  _exit(code);
}

}  // namespace

int64_t WatchSettings::IntervalNs() const {
  // The thread may be back in its wait right after a look.
  constexpr int64_t kShortestNs = 10 * base::kNsPerMs;
  const int64_t wanted_ns = interval_ms * base::kNsPerMs;
  return std::min(wanted_ns, std::max(kShortestNs, options.threshold_ms * base::kNsPerMs / 5));
}

pid_t StartWatcher(WatcherTask* task) {
  const pid_t parent = getpid();
  const pid_t watcher = fork();
  if (watcher == 0) BecomeWatcher(task, parent);
  return watcher;
}

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

bool Regularly::IsDue() {
  const int64_t now_ns = NowNs();
  if (now_ns < due_ns_) return false;
  due_ns_ = now_ns + interval_ns_;
  return true;
}

int64_t Regularly::UntilDueNs() const { return std::max<int64_t>(due_ns_ - NowNs(), 0); }

void UseManyDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace lagwatch::tools
