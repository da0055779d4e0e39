// SPDX-License-Identifier: Apache-2.0
// Rows of the table of sums, and how they are made of reports. Context: background. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/cluster/cause_sums.h"
#include "collector/store/clickhouse/server/row_binary.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/read_rows.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// The subject of a row, in the column `scope`.
enum class SumScope : int64_t {
  kAll = 0,      // a cluster on a day
  kSegment = 1,  // the same, of reports that are alike in what lists are filtered by
  kCause = 2,    // how many reports of a cluster are of a client's cause: without other sums
  kWatched = 4,  // how long loops of a version were watched on a day, in `hang_ns`
  kState = 3,    // one of the unit: what its sums were made of (SumState)
};

struct SumRow {
  SumScope scope = SumScope::kAll;
  int64_t level = 0;    // 0: all clusters together
  std::string parent;   // the level-1 cluster of a report in this level-2 cluster
  std::string cluster;  // key
  int64_t day = 0;      // of the reports' ids; of a span, its first
  std::string app, version, kind, verdict, loop, os;
  int64_t cause = 0;
  CauseSums sums;
};

// Of a row of scope kState.
struct SumState {
  int64_t reports = 0;   // summed up
  int64_t marks = 0;     // the sum of the unit's marks that were there before
  int64_t made_ms = 0;   // when
  int64_t took_ms = 0;   // for how long it was made
  int64_t last_day = 0;  // of the reports

  bool operator==(const SumState&) const = default;
};

// The columns of sums, for SELECT and ReadSums, and their types.
extern const char kSumsColumns[];
extern const char kSumsKinds[];
// The same of whole rows.
extern const char kSumRowColumns[];
extern const char kSumRowKinds[];

// Sums up reports, one by one.
class SumRows {
 public:
  using Visit = std::function<void(const SumRow&)>;

  // Ignores reports that do not count in clusters.
  void Add(const ReportRow& report);
  void AddUsage(const std::string& app, const std::string& version, int64_t day, int64_t watched_ns);

  // Adds a row of kSumRowColumns, as one of that day if it has a day.
  void AddRow(const Row& row, int64_t day);
  // Of rows that were added as such, which reports they are of is not known otherwise.
  void CountReports(int64_t reports, int64_t last_day);

  // The key of a row, in RowBinary; `segment`: app, version, kind, verdict, loop, os.
  static std::string KeyOf(SumScope scope, int64_t level, std::string_view parent, std::string_view cluster,
                           int64_t day, const std::array<std::string_view, 6>& segment, int64_t cause);

  // So many rows.
  size_t size() const { return sums_.size(); }
  int64_t reports() const { return reports_; }
  int64_t last_day() const { return last_day_; }
  void ForEach(const Visit& visit) const;
  // In RowBinary, with `unit` first. After it there are none, but `reports` and `last_day` stay.
  void MoveTo(int64_t unit, RowWriter* rows);

 private:
  void AddTo(SumScope scope, int64_t level, std::string_view parent, std::string_view cluster,
             const ReportRow& report);

  std::unordered_map<std::string, CauseSums> sums_;  // by all that a row is about, in RowBinary
  int64_t reports_ = 0;
  int64_t last_day_ = 0;
};

// A state's row.
void AppendState(int64_t unit, const SumState& state, RowWriter* rows);

}  // namespace lagwatch::collector
