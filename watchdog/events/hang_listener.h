// SPDX-License-Identifier: Apache-2.0
// The application's interface for hangs as soon as the watchdog finds them, without stacks.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

// Borrowed for the call.
struct HangNotice {
  const char* loop_name;
  const char* tag;  // may be empty
  int32_t tid;
  HangKind kind;
  HangLevel level;
  int64_t threshold_ns;
  int64_t elapsed_ns;     // so far; of a hang that is over, in all
  const char* text = "";  // HangSink::LastText() of its report; empty without one, and once it is over
};

// The reason that a check which found a hang in progress made no report. Part of the C ABI.
enum class FilterReason : uint8_t {
  kUnchangedStack = 1,  // it was reported with this stack
  kReportLimit = 2,     // it has as many reports as a hang may have
  kReportLost = 3,      // the report could not be kept
};

// Context: watchdog, all of it; after the report, if there is one, is kept.
class HangListener {
 public:
  virtual ~HangListener() = default;
  // A hang was found, or one has passed its second threshold.
  virtual void OnHangBegin(const HangNotice& hang) = 0;
  // The hang is over. Not called for a hang under way when the watchdog stops.
  virtual void OnHangEnd(const HangNotice& hang) = 0;
  virtual void OnFiltered(const HangNotice& hang, FilterReason reason) = 0;
  // Whether to call it for long dispatches that need not be hangs.
  virtual bool WantsSensitive() const { return false; }
  // One has ended, at this look or shortly before.
  virtual void OnSensitive(const HangNotice&) {}
};

// Measures the duration of another listener's calls: that is time that the watchdog waits, and neither a stop
// of the process nor the fault of the present dispatch.
class TimedListener final : public HangListener {
 public:
  // Borrowed; null: it is never called.
  explicit TimedListener(HangListener* listener) : listener_(listener) {}

  // In all calls so far.
  int64_t called_ns() const { return called_ns_; }

  void OnHangBegin(const HangNotice& hang) override {
    Measure([&] { listener_->OnHangBegin(hang); });
  }
  void OnHangEnd(const HangNotice& hang) override {
    Measure([&] { listener_->OnHangEnd(hang); });
  }
  void OnFiltered(const HangNotice& hang, FilterReason reason) override {
    Measure([&] { listener_->OnFiltered(hang, reason); });
  }
  bool WantsSensitive() const override { return listener_->WantsSensitive(); }
  void OnSensitive(const HangNotice& dispatch) override {
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
