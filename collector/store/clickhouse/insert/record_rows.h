// SPDX-License-Identifier: Apache-2.0
// Converts records to rows, and finds out which of them are stored already. Not thread-safe.
// Context: background.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/store/clickhouse/insert/batch_spool.h"
#include "collector/store/clickhouse/server/row_binary.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/clickhouse/server/versions.h"
#include "collector/store/records.h"
#include "collector/store/settings_store.h"

namespace lagwatch::collector {

// Rows of records of all kinds.
class RecordRows {
 public:
  RecordRows(const Schema* schema, Versions* versions) : schema_(schema), versions_(versions) {}

  void Add(const NewReport& added);
  void Add(const report::HangEnd& end);
  void Add(const report::RunEnd& end);
  void Add(const report::FrameSlice& slice);
  void Add(const NewUsage& added);
  void Add(const report::Losses& losses);
  void Add(const NewTrace& added);
  void Add(const report::OwnedRecord& record);
  void Add(const Cluster& cluster);
  // Only where the reports are now.
  void AddPlacement(const base::Uuid& id, const base::Uuid& hang_id, const ClusterPath& clusters);
  // Adds the key that sent the record, if it is known.
  void AddSenderOf(const NewRecord& record);
  void AddNamed(const base::Uuid& id, const std::string& build_id);
  void Add(const ClusterNote& note);
  void AddSetting(const std::string& name, const SharedSetting& setting);
  // The hang of a report that an end was added of. Without that, sums_worker.h looks for it later.
  void MarkEndOf(const base::Uuid& report_id, const std::optional<base::Uuid>& hang_id);
  void Mark(SumsUnit unit) { marked_.insert(unit.number()); }

  // In the order of the schema, marks last. After it there are none. Batches are to be sent in the order in
  // which they were taken.
  std::vector<Batch::Part> Take();
  size_t size_bytes() const;

 private:
  RowWriter& Of(const Table& table) { return rows_[table.name]; }

  const Schema* schema_;
  Versions* versions_;
  std::map<std::string_view, RowWriter> rows_;  // by table
  std::set<int64_t> marked_;                    // units whose reports these rows change
};

// A kind of records that have ids: the first letter of their keys, their table, and what identifies a row.
struct RecordKind {
  char letter;
  const Table* table;
  const char* id;
  bool has_its_day = false;  // the id says of which day the row is; else the record does
};
inline constexpr RecordKind kReportKind{'r', &kReports, "id", true};
inline constexpr RecordKind kEndKind{'e', &kEnds, "report_id", true};
inline constexpr RecordKind kTraceKind{'c', &kTraces, "id", true};
inline constexpr RecordKind kRunEndKind{'s', &kRunEnds, "session_id"};
inline constexpr RecordKind kUsageKind{'u', &kUsage, "id"};
inline constexpr RecordKind kLossesKind{'l', &kLosses, "id"};
inline constexpr RecordKind kFramesKind{'f', &kFrames, "id"};

// The identity of a record: the text is unique among all kinds.
std::string KeyOf(const NewRecord& record);
// The id of a record of an unknown type among kRecordSenders, and the same in SQL.
base::Uuid UnknownRecordId(std::string_view type_and_payload);
extern const char kUnknownRecordIdSql[];
// The kind and id among kRecordSenders of the record that a row is of; empty when the table has no records.
std::string SenderKeyOf(const Table& table, std::string_view row);
// The report that an end is of; nothing for other records.
std::optional<base::Uuid> EndedReportOf(const NewRecord& record);
// The days of the rows of a record that is no report, an end, or of an unknown type: by what it says itself.
int64_t DayOfRecord(const NewRecord& record);

}  // namespace lagwatch::collector
