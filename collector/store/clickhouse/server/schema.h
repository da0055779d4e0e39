// SPDX-License-Identifier: Apache-2.0
// The tables. Rows are only ever added: of several with the same key, reads take one. A table's
// sorting, partition and sharding keys are part of its rows' content, so that a row that comes twice
// comes to the same place. A change makes a table of another version, never an ALTER. See
// docs/design/clickhouse.md. Context: background.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "collector/store/clickhouse/server/clickhouse_url.h"
#include "collector/store/clickhouse/server/columns.h"
#include "collector/store/rows/note_row.h"
#include "collector/store/rows/report_row.h"
#include "collector/store/rows/run_end_row.h"
#include "collector/store/rows/trace_row.h"

namespace lagwatch::collector {

struct Table {
  std::string_view name;
  std::string_view columns;  // with their types
  std::string_view
      order_by;  // of rows that have these alike, ClickHouse may drop all but that of the highest `ver`
  std::string_view shard_by;  // a column
  bool is_by_day = true;      // divided by `day`
  bool is_kept = false;       // when old reports go
  bool is_sums = false;       // divided by `unit`, and replaced unit by unit (sums_worker.h)
};

// `ver` is the time of the row's making, for rows of which the newest counts, or its reverse, for those of
// which the first does (versions.h).
inline constexpr Table kReports{"reports_v2", ConstText<[](auto add) {
                                  add("day Date, ");
                                  AddTypedColumns(kReportColumns, add);
                                  add(", ver UInt64, payload String");
                                }>::view(),
                                "id", "lag_id"};
// The present clusters of reports that were moved.
inline constexpr Table kPlacements{"placements_v1",
                                   "day Date, id " LAGWATCH_ID ", lag_id " LAGWATCH_ID
                                   ", level1 String, level2 String, ver UInt64",
                                   "id", "lag_id"};
// The durations of hangs, from their reports' ends (`of_run` 0) or the ends of their killed runs (1). A
// report that its end blames has a further row (2).
inline constexpr Table kEnds{
    "ends_v1", "day Date, report_id " LAGWATCH_ID ", of_run Int64, duration_ns Int64, ver UInt64",
    "(report_id, of_run)", "report_id"};
inline constexpr Table kRunEnds{"run_ends_v1", ConstText<[](auto add) {
                                  add("day Date, ");
                                  AddTypedColumns(kRunEndColumns, add);
                                  add(", ver UInt64");
                                }>::view(),
                                "session_id", "session_id"};
inline constexpr Table kFrames{
    "frames_v1",
    "day Date, id " LAGWATCH_ID
    ", app String, version String, user String, loop String, scene String,"
    " begin_wall_ms Int64, duration_ns Int64, refresh_interval_ns Int64, frames Int64, dropped Int64,"
    " best Int64, normal Int64, middle Int64, high Int64, frozen Int64, other_ns Int64, input_ns Int64,"
    " animation_ns Int64, layout_ns Int64, draw_ns Int64, submit_ns Int64, ver UInt64",
    "id", "id"};
inline constexpr Table kUsage{
    "usage_v1",
    "day Date, id " LAGWATCH_ID
    ", app String, version String, user String, watched_ns Int64, ver UInt64, payload String",
    "id", "id"};
inline constexpr Table kLosses{"losses_v1",
                               "day Date, id " LAGWATCH_ID
                               ", position Int64, app String, version String, user String, reason String,"
                               " cause Int64, count Int64, sample_rate_ppm Int64, ver UInt64",
                               "(id, position)", "id"};
inline constexpr Table kUnknown{"unknown_v1",
                                "day Date, type Int64, payload String, received_wall_ms Int64, ver UInt64",
                                "(type, payload)", "payload"};
inline constexpr Table kTraces{"traces_v1", ConstText<[](auto add) {
                                 add("day Date, ");
                                 AddTypedColumns(kTraceColumns, add);
                                 add(", ver UInt64, trace String");
                               }>::view(),
                               "id", "id"};
inline constexpr Table kClusters{
    "clusters_v1",
    "key String, level Int64, parent String, frames String, via String, held_by String, ver UInt64",
    "(key, via)",
    "key",
    false,
    true};
inline constexpr Table kNotes{"notes_v1",
                              ConstText<[](auto add) {
                                AddTypedColumns(kNoteColumns, add);
                                add(", ver UInt64");
                              }>::view(),
                              "key",
                              "key",
                              false,
                              true};
// Settings that the collectors share (collector/sharing/settings_sync.h); of those that were removed, the
// content is empty.
inline constexpr Table kSettings{
    "settings_v1", "name String, content String, ver UInt64", "name", "name", false, true};
// Modules that a report has frames without names of; with `is_named` 1, it has been looked at for names.
inline constexpr Table kUnnamed{"unnamed_v1",
                                "day Date, build_id String, id " LAGWATCH_ID ", is_named Int64, ver UInt64",
                                "(build_id, id, is_named)", "id"};
// The keys that brought records. `kind` and `id` are those of KeyOf() (record_rows.h); of a record of an
// unknown type, the id is a digest. Of several keys of a record, the first counts.
inline constexpr Table kRecordSenders{"senders_v1",
                                      "day Date, kind String, id " LAGWATCH_ID ", sender String, ver UInt64",
                                      "(sender, kind, id)", "id"};

// The sums of a unit's reports (sums_unit.h), of which version 1 counted a hang in several clusters;
// sum_row.h describes the rows of each scope. Rows that are equal except for their sums add up.
inline constexpr Table kDaySums{
    "day_sums_v2",
    "unit Int64, scope Int64, level Int64, parent String, cluster String, day Int64, app String,"
    " version String, kind String, verdict String, loop String, os String, cause Int64, reports Int64,"
    " lags Int64, hang_ns Float64, weighted_lags Float64, weighted_hang_ns Float64, longest_ns Int64,"
    " first_seen_ms Int64, last_seen_ms Int64, sketches String",
    "(scope, level, parent, cluster, day)",
    "unit",
    false,
    true,
    true};
// Batches that changed rows of a unit: of each collector's process the number of its last one. Comes to the
// tables after the rows that it is about. The sum of a unit's numbers only grows; sums that were made of all
// of them say the same number.
inline constexpr Table kMarks{"marks_v1",
                              "day Date, unit Int64, collector Int64, number Int64, ver UInt64",
                              "(unit, collector)",
                              "unit",
                              true,
                              true};
// The collector that sums up: of the leases that are not over yet, the one that began first.
inline constexpr Table kLeases{"leases_v1",
                               "name String, holder Int64, since_ms Int64, until_ms Int64, ver UInt64",
                               "(name, holder)",
                               "name",
                               false,
                               true};

// Marks come last.
inline constexpr std::array kTables = {kReports, kPlacements,    kEnds,     kRunEnds, kFrames,   kUsage,
                                       kLosses,  kUnknown,       kClusters, kNotes,   kSettings, kUnnamed,
                                       kTraces,  kRecordSenders, kDaySums,  kLeases,  kMarks};

// The names of these tables in statements.
class Schema {
 public:
  explicit Schema(const ClickHouseUrl& url) : url_(url) {}

  // All rows, of all shards; rows are inserted here.
  std::string All(const Table& table) const;
  // Within a statement on All() of tables that are sharded alike: the rows of the same shard.
  std::string OfShard(const Table& table) const;
  // All(), with its columns in order: where to insert.
  std::string Target(const Table& table) const;

  // Makes an empty table `name` at one node, whose units can replace those of kDaySums there.
  std::string MakeNewSums(const std::string& name) const;

  // For each node, in this order; nothing happens where they were executed before.
  std::vector<std::string> Statements() const;
  // The number of tables that a node has after that: rows of `count()`.
  std::string CountTables() const;
  size_t table_count() const;

  const std::string& database() const { return url_.database; }
  const std::string& cluster() const { return url_.cluster; }
  bool is_cluster() const { return !url_.cluster.empty(); }

 private:
  std::string Engine(const Table& table) const;

  ClickHouseUrl url_;
};

}  // namespace lagwatch::collector
