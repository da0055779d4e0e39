// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>

#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kStackBytes = 512 * 1024;
constexpr int64_t kFirstCalibrationNs = 10 * base::kNsPerMs;
constexpr timespec kShortPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
constexpr int kPauseTries = 100;
constexpr int64_t kStopTimeoutNs = 3 * base::kNsPerSecond;

}  // namespace

Watchdog::Watchdog(const WatchOptions& options, LoopRegistry* registry, stack::StackCapturer* capturer,
                   HangSink* sink)
    : options_(options),
      registry_(registry),
      sink_(sink),
      threads_(options.max_threads),
      samples_(new LoopSample[LoopRegistry::kMaxLoops * static_cast<size_t>(options.ring_size)]),
      watches_(new LoopWatch[LoopRegistry::kMaxLoops]),
      tools_{&options_, &tick_scale_, &base::SystemClock(), capturer, &threads_, &waits_, sink, &counters_} {
  for (size_t i = 0; i < LoopRegistry::kMaxLoops; ++i) {
    watches_[i].SetRing(samples_.get() + i * static_cast<size_t>(options_.ring_size));
  }
}

base::Status Watchdog::Start() {
  return thread_.Start(
      "lagwatch", kStackBytes, [](void* self) { static_cast<Watchdog*>(self)->RunRounds(); }, this);
}

bool Watchdog::TryStop() {
  stopping_.store(true);
  sleeper_.Wake();
  return thread_.TryJoin(kStopTimeoutNs);
}

void Watchdog::PauseForFork() {
  is_paused_ = round_mutex_.try_lock();
  for (int i = 0; i < kPauseTries && !is_paused_; ++i) {
    nanosleep(&kShortPause, nullptr);
    is_paused_ = round_mutex_.try_lock();
  }
}

bool Watchdog::TryLockRound() {
  bool is_locked = round_mutex_.try_lock();
  for (int i = 0; i < kPauseTries && !is_locked && !is_fork_slow_; ++i) {
    nanosleep(&kShortPause, nullptr);
    is_locked = round_mutex_.try_lock();
  }
  is_fork_slow_ = !is_locked;
  return is_locked;
}

void Watchdog::RunRounds() {
  const base::Clock& clock = base::SystemClock();
  counters_.lock_layouts_unknown.Add(static_cast<uint64_t>(waits_.MeasureLayouts()));
  tick_scale_.Anchor(base::ReadTickPair(clock));
  int64_t next_ns = clock.MonoNs() + kFirstCalibrationNs;
  while (!stopping_.load()) {
    sleeper_.SleepUntil(next_ns);
    bool is_locked = TryLockRound();
    tick_scale_.Update(base::ReadTickPair(clock));
    next_ns = tick_scale_.is_known() ? RunRound() : next_ns + kFirstCalibrationNs;
    if (is_locked) round_mutex_.unlock();
  }
  for (size_t i = 0; i < LoopRegistry::kMaxLoops; ++i)
    watches_[i].FinishIfOver(registry_->loops()[i], tools_);
  sink_->OnRoundDone();
}

int64_t Watchdog::RunRound() {
  int64_t next_ns = base::SystemClock().MonoNs() + options_.check_period_ns;
  for (size_t i = 0; i < LoopRegistry::kMaxLoops; ++i) {
    WatchedLoop& loop = registry_->loops()[i];
    bool is_in_use =
        loop.generation.load(std::memory_order_acquire) % 2 != 0;  // pairs with the registry's stores
    if (is_in_use) {
      next_ns = std::min(next_ns, watches_[i].Look(&loop, tools_));
    } else {
      watches_[i].Forget(loop, tools_);
    }
  }
  sink_->OnRoundDone();
  return next_ns;
}

}  // namespace lagwatch::watchdog
