// SPDX-License-Identifier: Apache-2.0
// The times in which a loop is busy without a pause (policies/busy_loop.h has the rule).
#pragma once

#include "policies/busy_loop.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

class BusySpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kBusyLoop; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop&) const override { return busy_.number() == number; }
  bool IsEndToldBetweenLooks() const override { return false; }
  void AddFacts(const WatchedLoop&, FactList* facts) const override;
  void Forget() override { busy_ = {}; }

 private:
  policies::BusyLoop busy_;
};

}  // namespace lagwatch::watchdog
