// SPDX-License-Identifier: Apache-2.0
// Breaks hangs down, of a cause or of all: by each text that reports are filtered by. Context: background.
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "collector/query/json/json_text.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

class CauseBreakdown {
 public:
  static constexpr size_t kMostListed = 20;     // values of each text
  static constexpr size_t kMostCounted = 2000;  // others count together

  // Ignores hangs that were shorter.
  explicit CauseBreakdown(int64_t least_hang_ns = 0) : least_hang_ns_(least_hang_ns) {}

  // Ignores reports that do not count in clusters.
  void Add(const ReportRow& report);

  // {"all": {"reports", "hangs", "users", "hang_ms", "estimated", "largest_user_share"},
  // text: {"values": [{"value", "reports", "hangs", "users", "hang_ms", "estimated", "share"}], "more"}},
  // the most estimated hang time first. Users are counted, not named.
  Json ToJson() const;

 private:
  struct Part {
    int64_t reports = 0;
    int64_t hangs = 0;
    double hang_ns = 0;
    double weighted_hangs = 0;
    double weighted_hang_ns = 0;
    UserSketch users;
  };
  using Parts = std::map<std::string, Part>;

  static void AddTo(const Contribution& contribution, Part* part);
  static Json PartJson(const Part& part);
  Json PartsJson(const Parts& parts) const;
  // Of the user with the most hang time, among kMostCounted.
  double LargestUserShare() const;
  double ShareOf(const Part& part) const;

  const int64_t least_hang_ns_;
  std::array<Parts, kFilterTexts.size()> parts_;
  Part all_;
};

// The values of each text in these reports, the most frequent first: {text: [value]}.
Json ValuesJson(std::span<const ReportRow> reports);

}  // namespace lagwatch::collector
