// SPDX-License-Identifier: Apache-2.0
// The sources of all spans of a loop but its frames.
#pragma once

#include "base/clock.h"
#include "policies/busy_loop.h"
#include "policies/queue_age.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// The CPU time of a dispatch on record is at most so much too long.
inline constexpr int64_t kCpuReadIntervalNs = 100 * base::kNsPerMs;

// Says what the loop's probes are to keep. Context: watchdog.
void SetProbeLimits(WatchedLoop* loop, const SpanTools& tools);

// The spans that a loop's thread reports by a probe: its dispatches, its idle handler.
class ProbeSpans : public SpanSource {
 public:
  bool IsStillIn(uint64_t number, const WatchedLoop& loop) const override {
    return (loop.*probe_).IsStillIn(number);
  }
  int64_t DurationNs(uint64_t number, const WatchedLoop& loop, const SpanTools& tools) const override;

 protected:
  explicit ProbeSpans(LoopProbe WatchedLoop::*probe) : probe_(probe) {}
  Span ReadProbe(const WatchedLoop& loop, int64_t now_ns, const Thresholds& thresholds,
                 const SpanTools& tools) const;

 private:
  LoopProbe WatchedLoop::*probe_;
};

class DispatchSpans final : public ProbeSpans {
 public:
  DispatchSpans() : ProbeSpans(&WatchedLoop::probe) {}
  HangKind kind() const override { return HangKind::kHang; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
};

class IdleHandlerSpans final : public ProbeSpans {
 public:
  IdleHandlerSpans() : ProbeSpans(&WatchedLoop::idle_handler) {}
  HangKind kind() const override { return HangKind::kIdleHandler; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
};

// The spans of a loop's queues: tasks that wait to be run, input events that wait to be finished.
class QueueSpans : public SpanSource {
 public:
  bool IsStillIn(uint64_t number, const WatchedLoop&) const override { return age_.number() == number; }
  bool IsEndSeenBetweenLooks() const override { return false; }
  void AddFacts(const WatchedLoop&, FactList* facts) const override;
  void Forget() override { age_ = {}; }

 protected:
  Span ReadCounts(const TaskCounts& counts, int64_t now_ns, const Thresholds& thresholds);

 private:
  policies::QueueAge age_;
};

class TaskSpans final : public QueueSpans {
 public:
  HangKind kind() const override { return HangKind::kWaited; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
};

class InputSpans final : public QueueSpans {
 public:
  HangKind kind() const override { return HangKind::kInput; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
};

// A loop's scopes: of those under way, the one whose deadline is the first to pass.
class ScopeSpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kScope; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop& loop) const override {
    return loop.scopes.IsStillIn(number);
  }
};

// The times in which a loop is busy without a pause (policies/busy_loop.h has the rule).
class BusySpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kBusyLoop; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop&) const override { return busy_.number() == number; }
  bool IsEndSeenBetweenLooks() const override { return false; }
  void AddFacts(const WatchedLoop&, FactList* facts) const override;
  void Forget() override { busy_ = {}; }

 private:
  policies::BusyLoop busy_;
};

}  // namespace lagwatch::watchdog
