// SPDX-License-Identifier: Apache-2.0
// Divides a hang's time among its reports, so that sums are exact: a hang is one, however many reports it
// has, and each moment of it belongs to one stack. All of them have one cause, that of the report which
// leads. Context: background; pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lagwatch::policies {

// A report's data on its hang.
struct HangReport {
  int64_t elapsed_ns = 0;                 // age of the hang when the report was made
  int64_t ordinal = 0;                    // of the hang's reports
  std::optional<int64_t> end_ns = {};     // the hang's whole duration, where this report's end has come
  std::optional<int64_t> killed_ns = {};  // … where the run was killed in it
  bool is_blamed = false;                 // … and as that end says, its stack took the most of it
  int64_t sample_rate_ppm = 0;            // of users, one of which this is; 0: of all
};

struct HangShare {
  int64_t hang_ns = 0;  // the part of the hang that was spent in this report's stack
  // The report that the hang is counted at: the one to blame; else the first of those with the largest part.
  bool is_lead = false;

  bool operator==(const HangShare&) const = default;
};

struct HangAccount {
  // The index of the report that leads; there is one if there are reports.
  size_t Lead() const {
    return static_cast<size_t>(std::ranges::find(shares, true, &HangShare::is_lead) - shares.begin());
  }

  std::optional<int64_t> duration_ns;  // of the hang; nothing until an end is known
  bool was_killed = false;             // that end is the run's
  std::vector<HangShare> shares;       // in the order of the reports
  // The rate of the report that stands for the fewest users: those of one hang have the same in truth, and
  // none gives its weight to the time of another one.
  int64_t sample_rate_ppm = 0;
};

// A stack counts from its report on up to the next report's, the first from the hang's beginning, the last to
// its end: while the stack stays the same, no other report is made. The hang's own end counts before the
// run's; of several the longest. A hang that has not ended lasts as long as its last report says.
HangAccount AccountHang(std::span<const HangReport> reports);

}  // namespace lagwatch::policies
