// SPDX-License-Identifier: Apache-2.0
// Who wants to know at once what the watchdog finds, without stacks: the application.
#pragma once

#include <cstdint>

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

// Why a check that found a lag going on made no report.
enum class FilterReason : uint8_t {
  kUnchangedStack,  // it was reported with this stack
  kReportLimit,     // it has as many reports as a lag may have
  kReportLost,      // the report could not be kept
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

}  // namespace lagwatch::watchdog
