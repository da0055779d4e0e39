// SPDX-License-Identifier: Apache-2.0
// The sums of one cause's reports. Sums of parts add up to those of the whole; a report's contribution can be
// subtracted again, except for its user, its times and the longest hang. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "collector/sketches/duration_sketch.h"
#include "collector/sketches/user_sketch.h"

namespace lagwatch::collector {

struct CauseSums {
  int64_t reports = 0;
  int64_t hangs = 0;  // each counted once, at one of its reports (policies/hang_account.h)
  // As doubles, which no client can make overflow: whole numbers up to 104 days are exact.
  double hang_ns = 0;
  // Estimates for all users, from the received reports.
  double weighted_hangs = 0;
  double weighted_hang_ns = 0;
  int64_t longest_ns = 0;  // hang
  int64_t first_seen_ms = 0;
  int64_t last_seen_ms = 0;
  // Reports that count for less than they say, and the hang time, with weights, that does not count.
  int64_t capped_reports = 0;
  double capped_ns = 0;
  DurationSketch durations;  // of hangs
  UserSketch users;          // as CountedUser() says

  void Add(const CauseSums& other);
};

// One report's part in its cause.
struct Contribution {
  int64_t hangs = 0;  // 1 when its hang counts here
  int64_t hang_ns = 0;
  int64_t duration_ns = 0;  // of the hang
  double weight = 1;        // users' reports that it stands for
  int64_t seen_ms = 0;
  double capped_ns = 0;   // hang time, with its weight, that does not count
  std::string user = {};  // CountedUser()

  // `sign` 1 puts it in, -1 takes it out.
  void AddTo(CauseSums* sums, int sign) const;
};

// The user that a report or a record of usage counts for: a run without a user's name is one of its own. No
// user's name has a NUL in front.
std::string CountedUser(const std::string& user, const base::Uuid& session_id);

// One report stands for that many at most: it would else decide, by a rate that its client made up, which
// cause costs most.
inline constexpr double kMostWeight = 10'000;
// Of how many users' reports this is one: `sample_rate_ppm` of users send theirs; 0: all.
double WeightOf(int64_t sample_rate_ppm);

// Encodes the sketches for the disk. Unreadable ones decode to empty ones.
std::string EncodeSketches(const CauseSums& sums);
void DecodeSketches(std::string_view bytes, CauseSums* sums);

}  // namespace lagwatch::collector
