// SPDX-License-Identifier: Apache-2.0
// Makes the report of a slow dispatch from the flight recorder: a tree of the calls that took the time, and
// the path in it that took most. Context: background.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/uuid.h"
#include "sdk/report/program_facts.h"
#include "trace/record/arena.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::sdk {

// A copy of a watchdog::SlowDispatch.
struct SlowRequest {
  static constexpr size_t kMaxFacts = 16;
  static constexpr size_t kMaxTextBytes = 32;

  SlowRequest() = default;
  // Context: watchdog.
  explicit SlowRequest(const watchdog::SlowDispatch& dispatch);

  int64_t end_ns() const { return begin_ns + wall_ns; }

  std::array<char, kMaxTextBytes> loop{};
  std::array<char, kMaxTextBytes> tag{};
  int32_t tid = 0;
  int64_t begin_ns = 0;  // CLOCK_MONOTONIC
  int64_t wall_ns = 0;
  int64_t threshold_ns = 0;
  int64_t cpu_ns = 0;  // 0 when not known
  std::array<watchdog::Fact, kMaxFacts> facts{};
  size_t fact_count = 0;
};

struct SlowReport {
  base::Uuid id;
  uint64_t cause = 0;
  std::string payload;  // a Report
  std::string end;      // its HangEnd
};

// The tree is of the calls that were recorded in the dispatch, where these make up half of it or more; else
// of the samples of its thread. None when the recorder has neither.
std::optional<SlowReport> MakeSlowReport(const trace::Arena& arena, const SlowRequest& request,
                                         const ProgramFacts& program);

}  // namespace lagwatch::sdk
