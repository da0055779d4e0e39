// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/record_committer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collector/store/clickhouse/server/conditions.h"

namespace lagwatch::collector {
namespace {

constexpr uint64_t kMostSpoolBytes = uint64_t{1} << 30;
// Of a batch, but that one record may be more: larger files of the spool could not be read back at once.
constexpr size_t kMostBatchBytes = 16 << 20;
constexpr size_t kMostKnownClusters = 200'000;

// Ids of one kind that are looked for.
struct Wanted {
  std::vector<base::Uuid> ids;
  std::set<std::string> dates;  // of the records
};

std::string OneOf(const std::set<std::string>& dates) {
  std::string sql;
  for (const std::string& date : dates) sql += (sql.empty() ? "day IN (" : ", ") + date;
  return sql + ")";
}

bool SaysNothing(const NewRecord& record) {
  const auto* losses = std::get_if<report::Losses>(&record);
  return losses != nullptr && losses->losses.empty();
}

}  // namespace

// The rows of one commit, in batches.
class RecordCommitter::Group {
 public:
  explicit Group(RecordCommitter* owner) : owner_(owner), rows_(owner->schema_, owner->versions_) {}

  // `lags`: by the ids of reports.
  void Add(const NewRecord& record, const std::string& key, const std::map<std::string, base::Uuid>& hangs) {
    if (const auto ended = EndedReportOf(record)) {
      const auto hang = hangs.find(std::string(ended->as_bytes()));
      rows_.MarkEndOf(*ended, hang == hangs.end() ? std::nullopt : std::optional(hang->second));
    }
    if (const auto* added = std::get_if<NewReport>(&record)) owner_->AddNewClusters(added->clusters, &rows_);
    std::visit([&](const auto& known) { rows_.Add(known); }, record);
    rows_.AddSenderOf(record);
    keys_.push_back(key);
    if (rows_.size_bytes() >= kMostBatchBytes) EndBatch();
  }
  void Move(const ReportRow& report, const Reclustered& to) {
    if (!to.named_build.empty()) rows_.AddNamed(report.id, to.named_build);
    if (report.level1_key == to.clusters[0].key && report.level2_key == to.clusters[1].key) return;
    owner_->AddNewClusters(to.clusters, &rows_);
    rows_.AddPlacement(report.id, report.hang_id, to.clusters);
  }

  Status Send() {
    EndBatch();
    for (const Batch& batch : batches_) {
      if (Status sent = owner_->sender_.Send(batch); !sent.ok()) return sent;
    }
    return {};
  }

 private:
  void EndBatch() {
    std::vector<Batch::Part> parts = rows_.Take();
    if (!parts.empty()) batches_.push_back({std::move(parts), std::exchange(keys_, {})});
  }

  RecordCommitter* owner_;
  RecordRows rows_;
  std::vector<std::string> keys_;
  std::vector<Batch> batches_;
};

RecordCommitter::RecordCommitter(Connection* connection, const Schema* schema, Versions* versions,
                                 std::unique_ptr<BatchSpool> spool, LogLine log)
    : connection_(connection),
      schema_(schema),
      versions_(versions),
      sender_(connection, std::move(spool), kMostSpoolBytes, std::move(log)) {}

base::Result<std::vector<CommitOutcome>> RecordCommitter::Commit(std::span<const NewRecord> records) {
  std::lock_guard lock(commit_mutex_);
  std::set<std::string> known = KeysThatAreThere(records);
  const std::map<std::string, base::Uuid> hangs = HangsOfEnded(records);
  std::optional<int64_t> unknown_count;
  std::vector<CommitOutcome> outcomes;
  Group group(this);
  for (const NewRecord& record : records) {
    const std::string key = KeyOf(record);
    const bool is_unknown = std::holds_alternative<report::OwnedRecord>(record);
    if (is_unknown && !unknown_count) unknown_count = CountUnknown();
    if (SaysNothing(record) || known.contains(key) || sender_.IsOnItsWay(key)) {
      outcomes.push_back(CommitOutcome::kDuplicate);
    } else if (is_unknown && *unknown_count >= Store::kMaxUnknownRecords) {
      outcomes.push_back(CommitOutcome::kNoRoom);
    } else {
      if (is_unknown) ++*unknown_count;
      known.insert(key);
      group.Add(record, key, hangs);
      outcomes.push_back(CommitOutcome::kStored);
    }
  }
  const Status sent = group.Send();
  if (sent.ok()) return outcomes;
  ForgetClusters();
  return Status(StatusCode::kUnavailable, sent.message());
}

Status RecordCommitter::Move(std::span<const ReportRow> reports,
                             const std::map<std::string, const Reclustered*>& to) {
  std::lock_guard lock(commit_mutex_);
  Group group(this);
  for (const ReportRow& report : reports) group.Move(report, *to.at(std::string(report.id.as_bytes())));
  Status sent = group.Send();
  if (!sent.ok()) ForgetClusters();
  return sent;
}

// Of the same commit, or of those that are there.
std::map<std::string, base::Uuid> RecordCommitter::HangsOfEnded(std::span<const NewRecord> records) {
  std::map<std::string, base::Uuid> hangs;
  for (const NewRecord& record : records) {
    if (const auto* added = std::get_if<NewReport>(&record))
      hangs.emplace(added->row.id.as_bytes(), added->row.hang_id);
  }
  std::vector<base::Uuid> wanted;
  for (const NewRecord& record : records) {
    const auto ended = EndedReportOf(record);
    if (ended && !hangs.contains(std::string(ended->as_bytes()))) wanted.push_back(*ended);
  }
  if (wanted.empty() || !sender_.error().empty()) return hangs;
  try {
    const ExternalTable external = ExternalTable::OfIds(wanted);
    connection_->Select(
        "SELECT id, lag_id FROM " + schema_->All(kReports) + " WHERE id IN (SELECT id FROM ids) AND " +
            DaysOf(wanted),
        "uu", [&](const Row& row) { hangs.emplace(row.Bytes(0), row.Id(1)); }, &external);
  } catch (const ClickHouseError&) {
    // The worker looks for them later.
  }
  return hangs;
}

void RecordCommitter::AddNewClusters(const ClusterPath& path, RecordRows* rows) {
  std::lock_guard lock(clusters_mutex_);
  if (known_clusters_.size() > kMostKnownClusters) known_clusters_.clear();
  for (const Cluster& cluster : path) {
    // One that is known by its caller is worth a row of its own.
    if (known_clusters_.insert(cluster.key + (cluster.via.empty() ? "" : " via")).second) rows->Add(cluster);
  }
}

void RecordCommitter::ForgetClusters() {
  std::lock_guard lock(clusters_mutex_);
  known_clusters_.clear();
}

std::set<std::string> RecordCommitter::KeysThatAreThere(std::span<const NewRecord> records) {
  std::set<std::string> keys;
  if (!sender_.error().empty()) return keys;
  try {
    FindIds(records, &keys);
    FindUnknown(records, &keys);
  } catch (const ClickHouseError&) {
    // A repeated record is then a further row, which reads leave out.
  }
  return keys;
}

void RecordCommitter::FindIds(std::span<const NewRecord> records, std::set<std::string>* keys) {
  std::map<char, Wanted> wanted_of;
  for (const NewRecord& record : records) {
    const std::string key = KeyOf(record);
    const auto id = base::TryUuidFromBytes(std::string_view(key).substr(1));
    if (!id || key[0] == 't') continue;
    wanted_of[key[0]].ids.push_back(*id);
    wanted_of[key[0]].dates.insert(DateOf(DayOfRecord(record)));
  }
  for (const RecordKind& of :
       {kReportKind, kEndKind, kRunEndKind, kFramesKind, kUsageKind, kLossesKind, kTraceKind}) {
    const auto wanted = wanted_of.find(of.letter);
    if (wanted == wanted_of.end()) continue;
    const auto& [ids, dates] = wanted->second;
    const ExternalTable external = ExternalTable::OfIds(ids);
    const std::string column = of.id;
    connection_->Select(
        "SELECT " + column + " FROM " + schema_->All(*of.table) + " WHERE " + column +
            " IN (SELECT id FROM ids)" + (of.table == &kEnds ? " AND of_run = 0" : "") + " AND " +
            (of.has_its_day ? DaysOf(ids) : OneOf(dates)),
        "u", [&](const Row& row) { keys->insert(of.letter + row.Text(0)); }, &external);
  }
}

void RecordCommitter::FindUnknown(std::span<const NewRecord> records, std::set<std::string>* keys) {
  std::vector<std::string> payloads;
  for (const NewRecord& record : records) {
    if (const auto* unknown = std::get_if<report::OwnedRecord>(&record)) payloads.push_back(unknown->payload);
  }
  if (payloads.empty()) return;
  const ExternalTable external = ExternalTable::OfTexts(payloads);
  connection_->Select(
      "SELECT type, payload FROM " + schema_->All(kUnknown) + " WHERE payload IN (SELECT text FROM texts)",
      "is",
      [&](const Row& row) {
        keys->insert(KeyOf(report::OwnedRecord{static_cast<report::RecordType>(row.Int(0)), row.Text(1)}));
      },
      &external);
}

int64_t RecordCommitter::CountUnknown() {
  int64_t count = 0;
  try {
    connection_->Select("SELECT toInt64(uniqExact(type, payload)) FROM " + schema_->All(kUnknown), "i",
                        [&](const Row& row) { count = row.Int(0); });
  } catch (const ClickHouseError&) {
    // It is about how much there may be, not about how much there is.
  }
  return count;
}

}  // namespace lagwatch::collector
