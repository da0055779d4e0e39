// SPDX-License-Identifier: Apache-2.0
#include "sdk/trace/trace_triggers.h"

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "sdk/report/hang_encoder.h"

namespace lagwatch::sdk {
namespace {

// A hang at a moment, not of a dispatch: it has no end.
bool IsOfMoment(policies::HangKind kind) {
  return kind == policies::HangKind::kCpu || kind == policies::HangKind::kCpuAverage ||
         kind == policies::HangKind::kDump || kind == policies::HangKind::kIo;
}

TraceReason ReasonOf(const watchdog::HangEvent& event) {
  switch (event.kind) {
    case policies::HangKind::kCpu:
    case policies::HangKind::kCpuAverage:
      return TraceReason::kCpu;
    case policies::HangKind::kFrames:
      return TraceReason::kFrames;
    case policies::HangKind::kDump: {
      const bool is_by_signal = std::ranges::any_of(event.facts, [](const watchdog::Fact& fact) {
        return std::string_view(fact.name) == "dump_signal";
      });
      return is_by_signal ? TraceReason::kSignal : TraceReason::kApi;
    }
    default:
      break;
  }
  return event.level == policies::HangLevel::kAnr ? TraceReason::kAnr : TraceReason::kHang;
}

TraceEvent ToTraceEvent(const watchdog::HangEvent& event, uint64_t cause) {
  return {.reason = ReasonOf(event),
          .report_id = event.id,
          .hang_id = event.hang_id,
          .cause = cause,
          .begin_ns = event.detected_mono_ns - event.elapsed_ns,
          .end_ns = event.detected_mono_ns};
}

}  // namespace

TraceTriggers::TraceTriggers(watchdog::HangSink* sink, FlightRecorder* recorder, int64_t slow_interval_ns)
    : sink_(sink), recorder_(recorder), requests_(recorder->options().requests) {
  slow_limit_.SetInterval(slow_interval_ns);
}

void TraceTriggers::OnSlow(const watchdog::SlowDispatch& dispatch) {
  if (slow_limit_.TryPass(base::SystemClock().MonoNs())) recorder_->AskForReport(dispatch);
}

bool TraceTriggers::OnHang(const watchdog::HangEvent& event) {
  if (!sink_->OnHang(event)) return false;
  if (!recorder_->options().is_on) return true;
  const uint64_t cause = CauseOf(event);
  if (IsOfMoment(event.kind)) {
    AskNow(ToTraceEvent(event, cause));
  } else {
    NoteHang(event, cause);
  }
  return true;
}

void TraceTriggers::Forget() {
  hang_count_ = 0;
  hangs_ = {};
  ready_count_ = 0;
}

void TraceTriggers::NoteHang(const watchdog::HangEvent& event, uint64_t cause) {
  const size_t count = std::min(hang_count_, kMaxHangs);
  auto* const end = hangs_.begin() + count;
  Hang* hang = std::find_if(hangs_.begin(), end,
                            [&](const Hang& known) { return known.event.hang_id == event.hang_id; });
  if (hang == end) {
    if (event.ordinal != 0) return;  // forgotten: it had its trace
    hang = &hangs_[hang_count_++ % kMaxHangs];
    if (hang->is_waiting) Release(hang, event.detected_mono_ns);
    *hang = {ToTraceEvent(event, cause), event.detected_mono_ns, true};
  }
  if (!hang->is_waiting) return;
  if (TakeRequest(cause)) {
    hang->event.reason = TraceReason::kRequest;
  } else if (event.level == policies::HangLevel::kAnr && hang->event.reason == TraceReason::kHang) {
    hang->event.reason = TraceReason::kAnr;
  }
  if (event.level == policies::HangLevel::kAnr) Release(hang, event.detected_mono_ns);
}

void TraceTriggers::OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) {
  sink_->OnHangEnd(event_id, duration_ns);
  for (Hang& hang : hangs_) {
    if (hang.is_waiting && hang.event.report_id == event_id)
      Release(&hang, hang.event.begin_ns + duration_ns);
  }
}

void TraceTriggers::OnRoundDone() {
  sink_->OnRoundDone();
  const int64_t now_ns = base::SystemClock().MonoNs();
  for (Hang& hang : hangs_)
    if (hang.is_waiting && now_ns - hang.detected_ns >= kLongestWaitNs) Release(&hang, now_ns);
  AskForReady();
}

void TraceTriggers::OnStop() {
  sink_->OnStop();
  for (Hang& hang : hangs_)
    if (hang.is_waiting) Release(&hang, base::SystemClock().MonoNs());
  AskForReady();
}

void TraceTriggers::Release(Hang* hang, int64_t end_ns) {
  hang->is_waiting = false;
  hang->event.end_ns = std::max(end_ns, hang->event.begin_ns);
  AskNow(hang->event);
}

// Not before the round is done, which finishes the report's segment.
void TraceTriggers::AskNow(const TraceEvent& event) {
  if (ready_count_ < ready_.size()) ready_[ready_count_++] = event;
}

void TraceTriggers::AskForReady() {
  for (size_t i = 0; i < ready_count_; ++i) recorder_->Ask(ready_[i]);
  ready_count_ = 0;
}

bool TraceTriggers::TakeRequest(uint64_t cause) {
  const auto granted = std::ranges::find(requests_, cause, &TraceRequest::cause);
  if (granted == requests_.end()) return false;
  requests_.erase(granted);
  int64_t interval_ns = recorder_->options().interval_ns;
  for (const TraceRequest& request : requests_) interval_ns = std::min(interval_ns, request.interval_ns);
  recorder_->SetInterval(interval_ns);
  return true;
}

}  // namespace lagwatch::sdk
