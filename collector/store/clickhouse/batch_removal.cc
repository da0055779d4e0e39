// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/store/clickhouse/insert/batch_rows.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/clickhouse/row_remover.h"

namespace lagwatch::collector {
namespace {

using By = Removal::By;

// A row with names for its columns.
class RowFields {
 public:
  RowFields(const Table* table, std::string_view row) : table_(table), row_(row) {}

  bool IsOf(const Table& table) const { return table_->name == table.name; }
  std::optional<std::string_view> Get(std::string_view column) const {
    return FieldOf(*table_, row_, column);
  }
  bool Has(std::string_view column, std::string_view value) const { return Get(column) == value; }
  int64_t day() const { return DayOfRow(*table_, row_); }
  // Of a column with whole numbers; 0 if there is none of that name.
  int64_t Int(std::string_view column) const {
    int64_t number = 0;
    const std::string_view bytes = Get(column).value_or("");
    std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
    return number;
  }
  // As KeyOf() of the record that the row is of; empty when it is of none.
  std::string Key() const {
    if (IsOf(kRecordSenders)) return std::string(*Get("kind")) + std::string(*Get("id"));
    return SenderKeyOf(*table_, row_);
  }

 private:
  const Table* table_;
  std::string_view row_;
};

class BatchRemoval {
 public:
  BatchRemoval(const Removal& removal, std::span<const base::Uuid> report_ids, Batch* batch)
      : removal_(removal), batch_(batch) {
    for (const base::Uuid& id : report_ids) {
      reports_.insert(std::string(id.as_bytes()));
      keys_.insert('r' + std::string(id.as_bytes()));
    }
  }

  bool Run() {
    if (removal_.by == By::kKey) FindKeys();
    RemoveRows([&](const RowFields& row) {
      if (!IsNamed(row)) return false;
      keys_.insert(row.Key());
      if (row.IsOf(kReports)) reports_.insert(std::string(*row.Get("id")));
      if (row.IsOf(kRunEnds)) killed_.insert(std::string(*row.Get("report_id")));
      return true;
    });
    RemoveRows([&](const RowFields& row) { return BelongsToRemoved(row); });
    if (has_removed_ && std::ranges::all_of(batch_->parts, [](const Batch::Part& part) {
          return IsOfMarks(part) || IsOfSenders(part);
        })) {
      batch_->parts.clear();
    }
    return has_removed_;
  }

 private:
  void RemoveRows(const std::function<bool(const RowFields&)>& is_removed) {
    for (Batch::Part& part : batch_->parts) {
      const Table* table = TableOf(part.target);
      if (table == nullptr || IsOfMarks(part)) continue;
      const std::vector<std::string_view> rows = RowsOf(part);
      if (rows.empty()) continue;
      std::string kept;
      for (std::string_view row : rows) {
        if (is_removed(RowFields(table, row))) {
          has_removed_ = true;
        } else {
          kept += row;
        }
      }
      if (kept.size() < part.rows.size()) part.rows = std::move(kept);
    }
    std::erase_if(batch_->parts, [](const Batch::Part& part) { return part.rows.empty(); });
  }

  // Of the records that the key brought.
  void FindKeys() {
    for (const Batch::Part& part : batch_->parts) {
      if (!IsOfSenders(part)) continue;
      for (std::string_view bytes : RowsOf(part)) {
        const RowFields row(&kRecordSenders, bytes);
        if (row.Has("sender", removal_.subject)) keys_.insert(row.Key());
      }
    }
  }

  bool IsNamed(const RowFields& row) const {
    if (row.IsOf(kRecordSenders) || !IsOld(row)) return false;
    switch (removal_.by) {
      case By::kReport: {
        const auto id = base::TryParseUuid(removal_.subject);
        return id && row.IsOf(kReports) && row.Has("id", id->as_bytes());
      }
      case By::kCluster:
        return row.IsOf(kReports) &&
               (row.Has("level1", removal_.subject) || row.Has("level2", removal_.subject));
      case By::kUser:
        return !removal_.subject.empty() && row.Has("user", removal_.subject);
      case By::kKey:
        return keys_.contains(row.Key());
      case By::kApp:
        return row.Has("app", removal_.subject);
      case By::kOtherApps:
        break;
    }
    const auto app = row.Get("app");
    return app && std::ranges::find(removal_.excluded_apps, *app) == removal_.excluded_apps.end();
  }

  bool IsOld(const RowFields& row) const { return !removal_.before_day || row.day() < *removal_.before_day; }

  bool BelongsToRemoved(const RowFields& row) const {
    const auto of_report = [&](std::string_view column) {
      return reports_.contains(std::string(*row.Get(column)));
    };
    if (row.IsOf(kReports) || row.IsOf(kPlacements) || row.IsOf(kUnnamed)) return of_report("id");
    if (row.IsOf(kTraces)) return of_report("report_id");
    if (row.IsOf(kEnds))
      return row.Int("of_run") != 1 ? of_report("report_id")
                                    : killed_.contains(std::string(*row.Get("report_id")));
    return row.IsOf(kRecordSenders) && keys_.contains(row.Key());
  }

  const Removal& removal_;
  Batch* const batch_;
  std::set<std::string> reports_, killed_;  // ids of reports that go, and whose runs' ends go
  std::set<std::string> keys_;              // of records that go
  bool has_removed_ = false;
};

}  // namespace

bool TakeOut(const Removal& removal, std::span<const base::Uuid> report_ids, Batch* batch) {
  return BatchRemoval(removal, report_ids, batch).Run();
}

}  // namespace lagwatch::collector
