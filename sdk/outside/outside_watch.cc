// SPDX-License-Identifier: Apache-2.0
#include "sdk/outside/outside_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "watchdog/loops/outside_looks.h"

namespace lagwatch::sdk {
namespace {

constexpr int64_t kListIntervalNs = 1 * base::kNsPerSecond;
// Until then only the main thread's loop is watched, if it is to be watched at all: it may have one.
constexpr int64_t kMainThreadsTurnNs = 3 * base::kNsPerSecond;

std::string ProgramOf(const base::Process& process) {
  char path[4096];
  const ssize_t size = readlink(base::ProcessPath(process, "exe").c_str(), path, sizeof path);
  return {path, size < 0 ? 0 : static_cast<size_t>(size)};
}

}  // namespace

OutsideWatch::OutsideWatch(const base::Process& process, const OutsideOptions& options)
    : options_(options),
      process_(process),
      program_(ProgramOf(process)),
      begin_ns_(base::SystemClock().MonoNs()),
      common_(process) {
  scale_.Anchor(base::ReadTickPair(base::SystemClock()));
}

base::Result<std::unique_ptr<OutsideWatch>> OutsideWatch::Look(const base::Process& process,
                                                               const OutsideOptions& options) {
  std::unique_ptr<OutsideWatch> watch(new OutsideWatch(process, options));
  watch->FindThreads();
  if (options.threads == "auto" || options.threads == "all")
    watch->goroutines_ = GoroutineWatch::Create(process);
  if (watch->threads_.empty()) return base::Status(base::StatusCode::kNotFound, "it has ended");
  if (watch->threads_.front()->Poll(watch->scale_) == PolledThread::State::kHidden) {
    return base::Status(
        base::StatusCode::kUnavailable,
        "the kernel does not let this user look at it (another user's or a privileged process, "
        "or kernel.yama.ptrace_scope): try sudo");
  }
  return watch;
}

base::Status OutsideWatch::Report(const MonitorOptions& monitor) {
  registry_ = std::make_unique<watchdog::LoopRegistry>(process_);
  windows_ = WindowPings::Create(process_.pid());
  for (const auto& thread : threads_) SetWindowsOf(thread.get());
  goroutine_least_ns_ = monitor.watch.threshold_ns / 2;
  monitor_ = LAGWATCH_TRY(Monitor::Start(monitor, registry_.get()));
  return {};
}

OutsideWatch::~OutsideWatch() {
  for (const auto& thread : threads_) thread->SetLoop(nullptr, scale_);
  if (goroutines_ != nullptr && registry_ != nullptr) goroutines_->RemoveLoops(registry_.get());
  if (monitor_ != nullptr) Monitor::Stop(std::move(monitor_), watchdog::StopReason::kProcessEnds);
  static_cast<void>(registry_.release());  // a monitor that could not be stopped may still read it
}

bool OutsideWatch::Poll() {
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (has_run_ && now_ns - listed_ns_ >= kListIntervalNs) {
    if (ProgramOf(process_) != program_) return false;
    has_run_ = false;
    FindThreads();
    scale_.Update(base::ReadTickPair(base::SystemClock()));
  }
  is_active_ = false;
  bool has_any_run = false;
  std::erase_if(threads_, [&](const auto& thread) {
    const bool is_gone = thread->Poll(scale_) == PolledThread::State::kGone;
    has_any_run |= thread->has_run() || is_gone;
    is_active_ |= thread->has_run() && (thread->is_in_wait() || HasLoop(*thread));
    if (!is_gone) return false;
    watchdog::WatchedLoop* loop = thread->loop();
    thread->SetLoop(nullptr, scale_);
    if (loop != nullptr) registry_->Remove(loop);
    return true;
  });
  has_run_ |= has_any_run;
  if (goroutines_ != nullptr) goroutines_->Look(now_ns, has_any_run);
  if (monitor_ != nullptr) {
    ChooseLoops(now_ns);
    if (goroutines_ != nullptr && scale_.is_known())
      goroutines_->ChooseLoops(registry_.get(), scale_, now_ns, goroutine_least_ns_);
    watchdog::outside_looked_ns.store(now_ns, std::memory_order_release);  // after what it has found
  }
  return !threads_.empty();
}

template <typename Fits>
bool OutsideWatch::HasWantedThread(Fits fits) const {
  const int64_t now_ns = base::SystemClock().MonoNs();
  const bool is_main_watched = IsMainWatched();
  return std::ranges::any_of(threads_, [&](const auto& thread) {
    return fits(*thread) && HasLoop(*thread) && IsWanted(*thread, is_main_watched, now_ns);
  });
}

bool OutsideWatch::has_loop() const {
  return HasWantedThread([](const PolledThread&) { return true; });
}

int64_t OutsideWatch::FrozenSinceNs() const {
  const int64_t now_ns = base::SystemClock().MonoNs();
  const bool is_main_watched = IsMainWatched();
  for (const auto& thread : threads_) {
    if (thread->is_frozen() && HasLoop(*thread) && IsWanted(*thread, is_main_watched, now_ns))
      return thread->away_since_ns();
  }
  return 0;
}

bool OutsideWatch::is_suspicious() const {
  return (goroutines_ != nullptr && goroutines_->MayHang()) ||
         HasWantedThread([](const PolledThread& thread) { return thread.MayHang(); });
}

void OutsideWatch::FindThreads() {
  listed_ns_ = base::SystemClock().MonoNs();
  base::ForEachThread(process_, [&](int tid) {
    const bool is_known =
        std::ranges::any_of(threads_, [&](const auto& thread) { return thread->tid() == tid; });
    if (is_known) return true;
    threads_.push_back(
        std::make_unique<PolledThread>(tid, options_.takes_probable, options_.waits, &common_));
    threads_.back()->SetCautious(options_.threads == "auto");
    SetWindowsOf(threads_.back().get());
    return true;
  });
}

void OutsideWatch::SetWindowsOf(PolledThread* thread) const {
  // A toolkit serves its windows on the main thread.
  if (thread->tid() == process_.pid()) thread->SetWindows(windows_.get(), options_.unanswered);
}

bool OutsideWatch::IsWanted(const PolledThread& thread, bool is_main_watched, int64_t now_ns) const {
  const bool is_main = thread.tid() == process_.pid();
  if (options_.threads == "all") return true;
  if (options_.threads == "main") return is_main;
  if (options_.threads != "auto") return thread.Name() == options_.threads;
  return is_main || (!is_main_watched && now_ns - begin_ns_ > kMainThreadsTurnNs);
}

bool OutsideWatch::HasLoop(const PolledThread& thread) const {
  if (thread.has_home()) return true;
  const bool is_main = thread.tid() == process_.pid();
  const bool may_poll_nothing = options_.is_chosen && (is_main || options_.threads != "auto");
  if (may_poll_nothing && thread.has_object_home()) return true;
  const bool is_named =
      options_.threads != "auto" && options_.threads != "all" && thread.Name() == options_.threads;
  if (options_.is_chosen && (is_main || is_named) && thread.is_frozen()) return true;
  return may_poll_nothing && thread.has_usual_wait();
}

// A main thread that waits for its workers leaves the program's loops to them.
bool OutsideWatch::IsMainWatched() const {
  return std::ranges::any_of(threads_, [&](const auto& thread) {
    return thread->tid() == process_.pid() && !thread->has_object_home() && HasLoop(*thread);
  });
}

void OutsideWatch::ChooseLoops(int64_t now_ns) {
  // A thread that is frozen already has a dispatch that has begun before.
  if (!scale_.is_known()) scale_.Update(base::ReadTickPair(base::SystemClock()));
  const bool is_main_watched = IsMainWatched();
  for (const auto& thread : threads_) {
    const bool is_wanted = HasLoop(*thread) && IsWanted(*thread, is_main_watched, now_ns);
    if (is_wanted == (thread->loop() != nullptr)) continue;
    watchdog::WatchedLoop* before = thread->loop();
    if (is_wanted) {
      registry_->Add(thread->Name().c_str(), thread->tid(),
                     [&](watchdog::WatchedLoop* loop) { thread->SetLoop(loop, scale_); });
    } else {
      thread->SetLoop(nullptr, scale_);
      registry_->Remove(before);
    }
  }
}

}  // namespace lagwatch::sdk
