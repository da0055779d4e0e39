// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/watchers.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <utility>

#include "base/clock.h"
#include "sdk/outside/return_counter.h"
#include "sdk/run/run_facts.h"
#include "tools/process_files.h"
#include "tools/read/table.h"
#include "tools/run/sidecar.h"

namespace lagwatch::tools {
namespace {

// Loops are learnt from looks in a short time.
constexpr int64_t kLearningNs = 3 * base::kNsPerSecond;
constexpr int64_t kLongestIntervalNs = 1 * base::kNsPerSecond;

}  // namespace

base::Status Watchers::AskKernel() {
  kernel_waits_ = LAGWATCH_TRY(sdk::KernelWaits::Load());
  return {};
}

std::string NoteOnReturns() {
  switch (sdk::ReturnCounter::WayHere()) {
    case sdk::ReturnCounter::Way::kBreakpoint:
      return "";
    case sdk::ReturnCounter::Way::kTracepoint:
      return "breakpoints do not work on this machine; while a loop is busy, tracepoints make each system "
             "call of the machine up to 0.07 µs slower";
    case sdk::ReturnCounter::Way::kNone:
      break;
  }
  return "returns of a loop's wait cannot be counted here (root may, and others with "
         "kernel.perf_event_paranoid of 2 or less): a thread that sleeps and computes in turns is not "
         "reported, and one that computes may only be busy";
}

void Watchers::SayHowReturnsAreCounted() const {
  if (is_quiet_ || kernel_waits_ != nullptr) return;
  if (const std::string note = NoteOnReturns(); !note.empty()) std::cerr << "lagwatch: " << note << "\n";
}

void Watchers::Add(const Target& target, std::shared_ptr<const WatchSettings> settings) {
  const auto known = watched_.find(target.pid);
  if (known != watched_.end() && known->second.target.IsSameAs(target)) return;
  if (known != watched_.end()) EndWatcher(&known->second);
  watched_.erase(target.pid);
  Watched watched{.target = target, .settings = std::move(settings), .program = ProgramOf(target.pid)};
  if (watched.settings->quota != nullptr) {
    watched.reports = watched.settings->quota->CountOf(watched.program, base::SystemClock().WallMs());
    if (watched.reports->IsUsedUp(base::SystemClock().WallMs())) return;
  }
  if (HasWatchdog(target.pid)) {
    Say(target, "has a watchdog of its own");
  } else if (start_ == WatchStart::kAtOnce && !TakePlace(watched)) {
    return;
  } else if (BeginLooks(&watched)) {
    Say(target, "is watched from outside");
    if (start_ == WatchStart::kAtOnce) Start(&watched);
  }
  watched_.emplace(target.pid, std::move(watched));
}

sdk::OutsideOptions Watchers::OptionsOf(const WatchSettings& settings) const {
  return {.interval_ns = settings.IntervalNs(),
          .threads = settings.threads,
          .takes_probable = settings.takes_probable,
          .is_chosen = settings.is_chosen,
          .waits = kernel_waits_.get(),
          .unanswered = unanswered_.get()};
}

bool Watchers::BeginLooks(Watched* watched) {
  const auto process = base::Process::Other(watched->target.pid);
  const base::Status size = CheckWordSize(watched->target.pid);
  auto looks = size.ok() ? sdk::OutsideWatch::Look(process, OptionsOf(*watched->settings))
                         : base::Result<std::unique_ptr<sdk::OutsideWatch>>(size);
  if (!looks.ok()) {
    // Many processes end before they are looked at.
    const bool has_ended = looks.status().code() == base::StatusCode::kNotFound;
    if (has_ended && start_ == WatchStart::kWhenInDoubt) return false;
    std::cerr << "lagwatch: " << LabelOf(watched->target)
              << " is not watched: " << Printable(looks.status().message()) << "\n";
    has_failed_ = true;
    return false;
  }
  watched->looks = std::move(*looks);
  watched->begin_ns = watched->next_ns = base::SystemClock().MonoNs();
  watched->interval_ns = watched->settings->IntervalNs();
  return true;
}

int64_t Watchers::LookNs() {
  const int64_t now_ns = base::SystemClock().MonoNs();
  int64_t next_ns = now_ns + kLongestIntervalNs;
  for (auto at = watched_.begin(); at != watched_.end();) {
    Watched& watched = at->second;
    const bool is_looked_at = watched.looks != nullptr && watched.watcher == 0;
    if (is_looked_at && watched.next_ns <= now_ns && !LookAt(&watched, now_ns)) {
      at = watched_.erase(at);
      continue;
    }
    if (is_looked_at && watched.watcher == 0) next_ns = std::min(next_ns, watched.next_ns);
    ++at;
  }
  return std::max<int64_t>(next_ns - base::SystemClock().MonoNs(), 0);
}

bool Watchers::LookAt(Watched* watched, int64_t now_ns) {
  if (!watched->looks->Poll()) return false;
  const bool has_loop = watched->looks->has_loop();
  // The kernel records the loops of watchers only.
  const bool needs_watcher = watched->looks->is_suspicious() || (kernel_waits_ != nullptr && has_loop);
  if (needs_watcher && TakePlace(*watched)) {
    Start(watched);
    return true;
  }
  const int64_t shortest_ns = watched->settings->IntervalNs();
  const int64_t threshold_ns = watched->settings->options.threshold_ms * base::kNsPerMs;
  const int64_t longest_ns =
      has_loop ? std::clamp(threshold_ns / 2, shortest_ns, kLongestIntervalNs) : kLongestIntervalNs;
  const bool is_idle = !watched->looks->is_active() && now_ns - watched->begin_ns > kLearningNs;
  watched->interval_ns = is_idle ? std::min(2 * watched->interval_ns, longest_ns) : shortest_ns;
  // Many at the same time: this process wakes up once for them.
  watched->next_ns = (now_ns + watched->interval_ns) / shortest_ns * shortest_ns;
  if (watched->next_ns <= now_ns) watched->next_ns += shortest_ns;
  return true;
}

bool Watchers::TakePlace(const Watched& watched) {
  if (running_count() < most_) return true;
  if (!std::exchange(has_said_full_, true))
    std::cerr << "lagwatch: more than " << most_ << " processes: see most-processes\n";
  Watched* newest = nullptr;
  size_t most = CountOf(watched.program.user) + 1;
  for (auto& [pid, other] : watched_) {
    const size_t count = other.watcher == 0 ? 0 : CountOf(other.program.user);
    if (count > most || (newest != nullptr && count == most && other.next_ns > newest->next_ns)) {
      newest = &other;
      most = count;
    }
  }
  if (newest == nullptr) return false;
  EndWatcher(newest);
  return true;
}

size_t Watchers::CountOf(uid_t user) const {
  return static_cast<size_t>(std::ranges::count_if(
      watched_, [&](const auto& one) { return one.second.watcher != 0 && one.second.program.user == user; }));
}

void Watchers::Start(Watched* watched) {
  if (sdk::ProcessStartTicks(static_cast<uint32_t>(watched->target.pid)) != watched->target.start_ticks)
    return;
  WatcherTask task{.target = &watched->target,
                   .settings = watched->settings.get(),
                   .reports = watched->reports.get(),
                   .watch = std::move(watched->looks),
                   .ends_when_calm = start_ == WatchStart::kWhenInDoubt && kernel_waits_ == nullptr};
  if (log_) AddToHangLog(log_, watched->target.pid);
  const pid_t watcher = StartWatcher(&task);
  if (watcher > 0) watched->watcher = watcher;
  if (watcher < 0) Say(watched->target, "is not watched: no process could be started");
  watched->next_ns = base::SystemClock().MonoNs();
  if (start_ == WatchStart::kWhenInDoubt) watched->looks = std::move(task.watch);
}

void Watchers::EndWatcher(Watched* watched) {
  if (watched->watcher == 0) return;
  kill(watched->watcher, SIGTERM);
  while (waitpid(watched->watcher, nullptr, 0) < 0 && errno == EINTR) {
  }
  watched->watcher = 0;
}

void Watchers::Remove(const Target& target) {
  const auto found = watched_.find(target.pid);
  if (found == watched_.end() || !found->second.target.IsSameAs(target)) return;
  if (found->second.watcher != 0 || found->second.looks != nullptr) Say(target, "is no longer watched");
  EndWatcher(&found->second);
  watched_.erase(found);
}

bool Watchers::Reap() {
  int status = 0;
  bool is_other = false;
  for (pid_t watcher; (watcher = waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found =
        std::ranges::find_if(watched_, [&](const auto& one) { return one.second.watcher == watcher; });
    if (found == watched_.end()) continue;
    Watched& watched = found->second;
    watched.watcher = 0;
    const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : kWatcherCannot;
    has_failed_ |= exit == kWatcherCannot;
    is_other |= exit == kWatcherBecameOther;
    if (exit == kWatcherCannot) watched.looks = nullptr;
    if (exit == kWatcherEnded || exit == kWatcherBecameOther) watched_.erase(found);
  }
  std::erase_if(watched_, [&](const auto& one) {
    const Target& target = one.second.target;
    return !IsWatched(target.pid) &&
           sdk::ProcessStartTicks(static_cast<uint32_t>(target.pid)) != target.start_ticks;
  });
  return is_other;
}

bool Watchers::IsWatched(pid_t pid) const {
  const auto found = watched_.find(pid);
  return found != watched_.end() && (found->second.watcher != 0 || found->second.looks != nullptr);
}

std::vector<Target> Watchers::targets() const {
  std::vector<Target> targets;
  for (const auto& [pid, watched] : watched_) targets.push_back(watched.target);
  return targets;
}

size_t Watchers::running_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(watched_, [](const auto& one) { return one.second.watcher != 0; }));
}

void Watchers::EndAll() {
  for (const auto& [pid, watched] : watched_)
    if (watched.watcher != 0) kill(watched.watcher, SIGTERM);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

void Watchers::Say(const Target& target, const char* text) const {
  if (!is_quiet_) std::cerr << "lagwatch: " << LabelOf(target) << " " << text << "\n";
}

}  // namespace lagwatch::tools
