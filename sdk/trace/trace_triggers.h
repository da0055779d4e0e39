// SPDX-License-Identifier: Apache-2.0
// Stands between the watchdog and the sink: requests a trace of each reported event, once, and a report of
// each slow dispatch.
//
// A hang's trace is taken when the hang is over; when it becomes an ANR at once, because people kill programs
// that freeze for long; and after kLongestWaitNs in any case. Its report is on disk, and its segment
// finished, before the trace is requested.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/uuid.h"
#include "policies/upload/rate_limit.h"
#include "sdk/trace/flight_recorder.h"
#include "sdk/trace/trace_options.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::sdk {

// Context: watchdog, except for the construction.
class TraceTriggers final : public watchdog::HangSink {
 public:
  static constexpr int64_t kLongestWaitNs = 10 * base::kNsPerSecond;

  // Both borrowed. One slow dispatch in `slow_interval_ns` is reported at most.
  TraceTriggers(watchdog::HangSink* sink, FlightRecorder* recorder, int64_t slow_interval_ns = 0);

  void OnStart() override { sink_->OnStart(); }
  bool OnHang(const watchdog::HangEvent& event) override;
  const char* LastText() const override { return sink_->LastText(); }
  void OnPeers(const watchdog::HangEvent& event) override { sink_->OnPeers(event); }
  void OnBlame(const base::Uuid& event_id) override { sink_->OnBlame(event_id); }
  void OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) override;
  void OnUnproven(const base::Uuid& id, const char* loop_name, int64_t elapsed_ns) override {
    sink_->OnUnproven(id, loop_name, elapsed_ns);
  }
  void OnUnprovenEnd(const base::Uuid& id) override { sink_->OnUnprovenEnd(id); }
  bool WantsSlow() const override { return recorder_->options().reports_slow; }
  void OnSlow(const watchdog::SlowDispatch& dispatch) override;
  void OnFrames(const watchdog::FrameEvent& event) override { sink_->OnFrames(event); }
  bool OnUsage(const watchdog::UsageEvent& event) override { return sink_->OnUsage(event); }
  void OnUsageSoFar(const watchdog::UsageEvent& event) override { sink_->OnUsageSoFar(event); }
  void OnRoundDone() override;
  void OnStop() override;
  // Of what was reported so far no trace is asked for any more.
  void Forget();

 private:
  static constexpr size_t kMaxHangs = 16;

  // A hang that was reported.
  struct Hang {
    TraceEvent event;
    int64_t detected_ns;
    bool is_waiting;  // its trace was not taken so far
  };

  void NoteHang(const watchdog::HangEvent& event, uint64_t cause);
  void Release(Hang* hang, int64_t end_ns);
  void AskNow(const TraceEvent& event);
  // Whether a trace of that cause was requested; this uses up the request.
  bool TakeRequest(uint64_t cause);
  void AskForReady();

  watchdog::HangSink* sink_;
  FlightRecorder* recorder_;
  std::vector<TraceRequest> requests_;
  policies::RateLimit slow_limit_;
  std::array<Hang, kMaxHangs> hangs_{};  // the last ones
  size_t hang_count_ = 0;                // ever
  std::array<TraceEvent, kMaxHangs> ready_{};
  size_t ready_count_ = 0;
};

}  // namespace lagwatch::sdk
