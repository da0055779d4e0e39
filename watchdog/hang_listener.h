// SPDX-License-Identifier: Apache-2.0
// Who wants to know at once what the watchdog finds, without stacks: the application.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "watchdog/hang_sink.h"

namespace lagwatch::watchdog {

// Borrowed for the call.
struct LagNotice {
  const char* loop_name;
  const char* tag;  // may be empty
  int32_t tid;
  HangKind kind;
  HangLevel level;
  int64_t threshold_ns;
  int64_t elapsed_ns;  // so far; of a lag that is over, in all
};

// The reason that a check which found a lag in progress made no report. Part of the C ABI.
enum class FilterReason : uint8_t {
  kUnchangedStack = 1,  // it was reported with this stack
  kReportLimit = 2,     // it has as many reports as a lag may have
  kReportLost = 3,      // the report could not be kept
};

// Context: watchdog, all of it; after the report, if there is one, is kept.
class HangListener {
 public:
  virtual ~HangListener() = default;
  // A lag was found, or one has passed its second threshold.
  virtual void OnLagBegin(const LagNotice& lag) = 0;
  // It is over. Not told of a lag under way when the watchdog stops.
  virtual void OnLagEnd(const LagNotice& lag) = 0;
  virtual void OnFiltered(const LagNotice& lag, FilterReason reason) = 0;
  // Whether it wants to be told of dispatches that are long, but need be no lags.
  virtual bool WantsSensitive() const { return false; }
  // One has ended, at this look or shortly before.
  virtual void OnSensitive(const LagNotice&) {}
};

// Measures how long another one's calls take: that is time that the watchdog waits, and neither a stop of the
// process nor the fault of what goes on meanwhile.
class TimedListener final : public HangListener {
 public:
  // Borrowed; null: it is never called.
  explicit TimedListener(HangListener* listener) : listener_(listener) {}

  // In all calls so far.
  int64_t called_ns() const { return called_ns_; }

  void OnLagBegin(const LagNotice& lag) override {
    Measure([&] { listener_->OnLagBegin(lag); });
  }
  void OnLagEnd(const LagNotice& lag) override {
    Measure([&] { listener_->OnLagEnd(lag); });
  }
  void OnFiltered(const LagNotice& lag, FilterReason reason) override {
    Measure([&] { listener_->OnFiltered(lag, reason); });
  }
  bool WantsSensitive() const override { return listener_->WantsSensitive(); }
  void OnSensitive(const LagNotice& dispatch) override {
    Measure([&] { listener_->OnSensitive(dispatch); });
  }

 private:
  template <typename Call>
  void Measure(Call call) {
    const int64_t begin_ns = base::SystemClock().MonoNs();
    call();
    called_ns_ += base::SystemClock().MonoNs() - begin_ns;
  }

  HangListener* listener_;
  int64_t called_ns_ = 0;
};

}  // namespace lagwatch::watchdog
