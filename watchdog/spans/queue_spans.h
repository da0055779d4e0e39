// SPDX-License-Identifier: Apache-2.0
// The spans of a loop's queues: tasks that wait to be run, input events that wait to be finished.
#pragma once

#include "policies/queue_age.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

class QueueSpans : public SpanSource {
 public:
  bool IsStillIn(uint64_t number, const WatchedLoop&) const override { return age_.number() == number; }
  bool IsEndToldBetweenLooks() const override { return false; }
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

}  // namespace lagwatch::watchdog
