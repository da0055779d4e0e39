// SPDX-License-Identifier: Apache-2.0
// The records of one client, drawn from a seed: hangs with one report or several, ends before and after their
// reports, runs that were killed, usage and losses.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "base/uuid.h"
#include "report/format/report.h"
#include "tests/faults/random.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::faults {

using Id = std::array<uint8_t, 16>;

// The expected contents of a store with all these records.
struct Expected {
  std::set<Id> reports;
  std::map<Id, int64_t> durations_ns;  // by hang, of those that ended
  std::map<uint64_t, int64_t> lost;    // reports, by cause
  double watched_ns = 0;

  void Add(const Expected& other);
};

struct Batch {
  std::string body;
  int64_t records = 0;
  std::set<Id> reports;
};

class KillTraffic {
 public:
  enum class Records { kAll, kHangs };  // kHangs: reports and ends of hangs alone

  // `begin_ms` is the time of the first hang.
  KillTraffic(uint64_t seed, int64_t begin_ms, Records records = Records::kAll)
      : random_(seed), now_ms_(begin_ms), records_(records) {}

  // The next batch, of 1 to 30 records.
  Batch Next();
  // A batch of what is left of hangs that began.
  Batch Rest();
  // Of the hangs that began so far.
  const Expected& expected() const { return expected_; }

 private:
  struct PendingRecord {
    report::RecordType type = {};
    std::string payload;
    Id report = {};  // of a report
  };

  void AddHang();
  void AddUsage();
  void AddLosses();
  testing::SampleReport DrawReport();
  // Somewhere among the last records, so that an end may precede its report.
  void Insert(PendingRecord record);
  Batch Take(size_t count);

  Random random_;
  std::set<std::string> names_;  // that reports refer to
  int64_t now_ms_;
  const Records records_;
  std::deque<PendingRecord> pending_;
  Expected expected_;
};

}  // namespace lagwatch::faults
