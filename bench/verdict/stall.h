// SPDX-License-Identifier: Apache-2.0
// One run of a stall under the watchdog, and the verdict of its report.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "policies/verdict.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::bench {

constexpr int64_t kThresholdNs = 200 * base::kNsPerMs;
constexpr int64_t kSampleIntervalNs = 10 * base::kNsPerMs;
// Longer than the threshold by far, so that a late look finds the dispatch still in its stall.
constexpr int64_t kStallNs = 400 * base::kNsPerMs;
constexpr int64_t kDeadlineNs = 5 * base::kNsPerSecond;

inline int64_t NowNs() { return base::SystemClock().MonoNs(); }

inline void SleepMs(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Of the hang's first report, and its end.
class VerdictSink final : public watchdog::HangSink {
 public:
  bool OnHang(const watchdog::HangEvent& event) override {
    std::lock_guard lock(mutex_);
    if (!verdict_) verdict_ = event.verdict;
    return true;
  }
  void OnHangEnd(const base::Uuid&, int64_t duration_ns) override {
    std::lock_guard lock(mutex_);
    duration_ns_ = duration_ns;
  }
  void OnRoundDone() override {}

  std::optional<policies::Verdict> verdict() const {
    std::lock_guard lock(mutex_);
    return verdict_;
  }
  // None before its end.
  std::optional<int64_t> duration_ns() const {
    std::lock_guard lock(mutex_);
    return duration_ns_;
  }
  void Forget() {
    std::lock_guard lock(mutex_);
    verdict_.reset();
    duration_ns_.reset();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<policies::Verdict> verdict_;
  std::optional<int64_t> duration_ns_;
};

// One run of a stall. The other side of it ends the stall.
class Stall {
 public:
  explicit Stall(const VerdictSink& sink) : sink_(sink) {}

  // For stalls that are loops: until there is a report, but at least for some time.
  bool IsToGoOn() const {
    return NowNs() < begin_ns_ + kStallNs || (!sink_.verdict() && NowNs() < begin_ns_ + kDeadlineNs);
  }
  // For the other side.
  void WaitForReport() const {
    while (IsToGoOn()) SleepMs(5);
  }

 private:
  const VerdictSink& sink_;
  int64_t begin_ns_ = NowNs();
};

}  // namespace lagwatch::bench
