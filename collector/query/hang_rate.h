// SPDX-License-Identifier: Apache-2.0
// The hang time per watched hour, over users; a sampled user stands for others, too. Context: background;
// pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "collector/query/json/json_text.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// In milliseconds.
double HangMsPerHour(double hang_ns, double watched_ns);

// Hang rates over users. Each number of a sampled user's record counts for all users that it stands for.
// A user's own rate is the measured one; it stands for as many users as the records do, on average over
// the watched time.
class HangRates {
 public:
  void Add(const report::Usage& usage);
  // A part of a record's use.
  void Add(const report::Usage& usage, int64_t watched_ns, int64_t hang_ns);

  // Those that were watched.
  size_t users() const;
  // {"all", "p50", "p90"}: of all time, and by nearest rank over users.
  Json ToJson() const;

 private:
  struct Times {
    double watched_ns = 0;
    double hang_ns = 0;
    double weighted_watched_ns = 0;
  };

  std::map<std::string, Times> users_;
  double weighted_watched_ns_ = 0;
  double weighted_hang_ns_ = 0;
};

}  // namespace lagwatch::collector
