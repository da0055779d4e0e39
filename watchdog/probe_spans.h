// SPDX-License-Identifier: Apache-2.0
// A loop's dispatches.
#pragma once

#include "watchdog/span_source.h"

namespace lagwatch::watchdog {

class DispatchSpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kLag; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop& loop) const override {
    return loop.probe.IsStillIn(number);
  }
  int64_t DurationNs(uint64_t number, const WatchedLoop& loop, const SpanTools& tools) const override;
};

}  // namespace lagwatch::watchdog
