// SPDX-License-Identifier: Apache-2.0
// Requests traces of dispatches that are slow, but no hangs: a listener in front of the program's own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "policies/upload/rate_limit.h"
#include "sdk/trace/flight_recorder.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/loops/watch_options.h"

namespace lagwatch::sdk {

// Context: watchdog, except for the construction.
class SlowTraces final : public watchdog::HangListener {
 public:
  // Takes over the options' listener, and requests dispatches that are slow enough for either.
  // `recorder` is borrowed.
  SlowTraces(watchdog::WatchOptions* watch, FlightRecorder* recorder)
      : next_(watch->listener),
        recorder_(recorder),
        next_sensitive_ns_(watch->sensitive_ns),
        hang_ns_(watch->threshold_ns) {
    const int64_t slow_ns = recorder->options().slow_ns;
    watch->sensitive_ns = watch->sensitive_ns == 0 ? slow_ns : std::min(watch->sensitive_ns, slow_ns);
    limit_.SetInterval(watch->dump_interval_ns);
  }

  void OnHangBegin(const watchdog::HangNotice& hang) override {
    if (next_ != nullptr) next_->OnHangBegin(hang);
  }
  void OnHangEnd(const watchdog::HangNotice& hang) override {
    if (next_ != nullptr) next_->OnHangEnd(hang);
  }
  void OnFiltered(const watchdog::HangNotice& hang, watchdog::FilterReason reason) override {
    if (next_ != nullptr) next_->OnFiltered(hang, reason);
  }
  bool WantsSensitive() const override { return true; }
  void OnSensitive(const watchdog::HangNotice& dispatch) override {
    ReportNext(dispatch);
    const int64_t now_ns = base::SystemClock().MonoNs();
    const bool is_slow =
        dispatch.elapsed_ns > recorder_->options().slow_ns && dispatch.elapsed_ns <= hang_ns_;
    if (!is_slow || !limit_.TryPass(now_ns)) return;
    // It has ended at some time since the last look: the recorded time before is long enough to include it.
    recorder_->Ask(
        {.reason = TraceReason::kSlow, .begin_ns = now_ns - dispatch.elapsed_ns, .end_ns = now_ns});
  }

 private:
  void ReportNext(watchdog::HangNotice dispatch) {
    const bool is_wanted = next_ != nullptr && next_->WantsSensitive() && next_sensitive_ns_ != 0;
    if (!is_wanted || dispatch.elapsed_ns <= next_sensitive_ns_) return;
    dispatch.threshold_ns = next_sensitive_ns_;
    next_->OnSensitive(dispatch);
  }

  watchdog::HangListener* next_;  // may be null
  FlightRecorder* recorder_;
  int64_t next_sensitive_ns_;
  int64_t hang_ns_;
  policies::RateLimit limit_;
};

}  // namespace lagwatch::sdk
