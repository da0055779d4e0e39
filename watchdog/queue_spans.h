// SPDX-License-Identifier: Apache-2.0
// The waits of a loop's tasks in its queue.
#pragma once

#include "policies/queue_age.h"
#include "watchdog/span_source.h"

namespace lagwatch::watchdog {

class QueueSpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kWaited; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop&) const override { return age_.number() == number; }
  void AddFacts(const WatchedLoop&, FactList* facts) const override;
  void Forget() override { age_ = {}; }

 private:
  policies::QueueAge age_;
};

}  // namespace lagwatch::watchdog
