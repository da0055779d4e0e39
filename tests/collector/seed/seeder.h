// SPDX-License-Identifier: Apache-2.0
// Records for a collector's store, of times up to now, drawn alike at each run. Not thread-safe.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "base/clock.h"
#include "collector/ingest/ingest.h"
#include "policies/verdict.h"
#include "report/format/report.h"

namespace lagwatch::testing {

constexpr int64_t kMsPerHour = 3'600'000;
constexpr int64_t kMsPerDay = 24 * kMsPerHour;
constexpr int64_t kNsPerMs = 1'000'000;

// The verdict of a hang that spent nine tenths of its time as `word` says.
policies::Verdict VerdictOf(policies::VerdictWord word, int64_t wall_ns);

class Seeder {
 public:
  // Borrows `ingest`, which gets batches of `records_of_a_batch` records.
  explicit Seeder(collector::Ingest* ingest, int records_of_a_batch = 200)
      : ingest_(ingest), records_of_a_batch_(records_of_a_batch) {}

  // Both throw std::runtime_error if a record is refused. Flush() has all ingested that was added before.
  void Add(report::RecordType type, const std::string& encoded);
  void Flush();

  int64_t now_ms() const { return now_ms_; }
  // The begin of a day before today. Today's early hours may not have come yet: a day ends now.
  int64_t BeginOf(int day) const { return now_ms_ - (day + 1) * kMsPerDay + kMsPerHour; }
  // A number from 0 on.
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  // Adds twelve users' use of the version on a day, with hangs.
  void AddUse(const std::string& app, const std::string& version, int day);

  // Sets the ids, and the begin of the hang.
  static void StampHeader(int64_t start_ms, report::ReportHeader* header);

 private:
  collector::Ingest* const ingest_;
  const int records_of_a_batch_;
  std::mt19937_64 random_{42};
  const int64_t now_ms_ = base::SystemClock().WallMs();
  std::string batch_;
  int records_ = 0;
};

}  // namespace lagwatch::testing
