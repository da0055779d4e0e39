// SPDX-License-Identifier: Apache-2.0
// The spans that a loop's thread reports by a probe: its dispatches, its idle handler.
#pragma once

#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// Says what the loop's probes are to keep. Context: watchdog.
void SetProbeLimits(WatchedLoop* loop, const SpanTools& tools);

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

}  // namespace lagwatch::watchdog
