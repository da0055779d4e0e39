// SPDX-License-Identifier: Apache-2.0
#include "sdk/outside/outside_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/process/watched_process.h"
#include "watchdog/loops/outside_looks.h"

namespace lagwatch::sdk {
namespace {

constexpr int64_t kListIntervalNs = 1 * base::kNsPerSecond;
// Until then only the main thread's loop is watched, if it is to be watched at all: it may have one.
constexpr int64_t kMainThreadsTurnNs = 3 * base::kNsPerSecond;

std::string ProgramOf() {
  char path[4096];
  const ssize_t size = readlink(base::ProcessPath("exe").c_str(), path, sizeof path);
  return {path, size < 0 ? 0 : static_cast<size_t>(size)};
}

}  // namespace

OutsideWatch::OutsideWatch(const OutsideOptions& options)
    : options_(options),
      program_(ProgramOf()),
      begin_ns_(base::SystemClock().MonoNs()),
      registry_(new watchdog::LoopRegistry),
      windows_(WindowPings::Create(base::WatchedPid())) {
  scale_.Anchor(base::ReadTickPair(base::SystemClock()));
}

base::Result<std::unique_ptr<OutsideWatch>> OutsideWatch::Start(const MonitorOptions& monitor,
                                                                const OutsideOptions& options) {
  std::unique_ptr<OutsideWatch> watch(new OutsideWatch(options));
  watch->FindThreads();
  if (watch->threads_.empty()) return base::Status(base::StatusCode::kNotFound, "it has ended");
  if (watch->threads_.front()->Poll(watch->scale_) == PolledThread::State::kHidden) {
    return base::Status(
        base::StatusCode::kUnavailable,
        "the kernel does not let this user look at it (another user's or a privileged process, "
        "or kernel.yama.ptrace_scope): try sudo");
  }
  watch->monitor_ = LAGWATCH_TRY(Monitor::Start(monitor, watch->registry_.get()));
  return watch;
}

OutsideWatch::~OutsideWatch() {
  for (const auto& thread : threads_) thread->SetLoop(nullptr);
  if (monitor_ != nullptr) Monitor::Stop(std::move(monitor_), watchdog::StopReason::kProcessEnds);
  static_cast<void>(registry_.release());  // a monitor that could not be stopped may still read it
}

bool OutsideWatch::Poll() {
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (now_ns - listed_ns_ >= kListIntervalNs) {
    if (ProgramOf() != program_) return false;
    FindThreads();
    scale_.Update(base::ReadTickPair(base::SystemClock()));
  }
  std::erase_if(threads_, [&](const auto& thread) {
    if (thread->Poll(scale_) != PolledThread::State::kGone) return false;
    watchdog::WatchedLoop* loop = thread->loop();
    thread->SetLoop(nullptr);
    if (loop != nullptr) registry_->Remove(loop);
    return true;
  });
  ChooseLoops(now_ns);
  watchdog::outside_looked_ns.store(now_ns, std::memory_order_release);  // after what it has found
  return !threads_.empty();
}

size_t OutsideWatch::loop_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(threads_, [](const auto& thread) { return thread->loop() != nullptr; }));
}

void OutsideWatch::FindThreads() {
  listed_ns_ = base::SystemClock().MonoNs();
  base::ForEachThread([&](int tid) {
    const bool is_known =
        std::ranges::any_of(threads_, [&](const auto& thread) { return thread->tid() == tid; });
    if (is_known) return true;
    threads_.push_back(std::make_unique<PolledThread>(tid, options_.takes_probable, options_.waits));
    // A toolkit serves its windows on the main thread.
    if (tid == base::WatchedPid()) threads_.back()->SetWindows(windows_.get(), options_.unanswered);
    return true;
  });
}

bool OutsideWatch::IsWanted(const PolledThread& thread, bool is_main_watched, int64_t now_ns) const {
  const bool is_main = thread.tid() == base::WatchedPid();
  if (options_.threads == "all") return true;
  if (options_.threads == "main") return is_main;
  if (options_.threads != "auto") return thread.Name() == options_.threads;
  return is_main || (!is_main_watched && now_ns - begin_ns_ > kMainThreadsTurnNs);
}

bool OutsideWatch::HasLoop(const PolledThread& thread) const {
  if (thread.has_home()) return true;
  const bool is_chosen = options_.threads != "auto" || thread.tid() == base::WatchedPid();
  return options_.is_chosen && is_chosen && thread.has_usual_wait();
}

void OutsideWatch::ChooseLoops(int64_t now_ns) {
  const bool is_main_watched = std::ranges::any_of(
      threads_, [&](const auto& thread) { return thread->tid() == base::WatchedPid() && HasLoop(*thread); });
  for (const auto& thread : threads_) {
    const bool is_wanted = HasLoop(*thread) && IsWanted(*thread, is_main_watched, now_ns);
    if (is_wanted == (thread->loop() != nullptr)) continue;
    watchdog::WatchedLoop* before = thread->loop();
    thread->SetLoop(is_wanted ? registry_->Add(thread->Name().c_str(), thread->tid()) : nullptr);
    if (before != nullptr) registry_->Remove(before);
  }
}

}  // namespace lagwatch::sdk
