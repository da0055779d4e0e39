// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/record_committer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "collector/store/clickhouse/conditions.h"

namespace lagwatch::collector {
namespace {

using base::Status;
using base::StatusCode;

constexpr uint64_t kMostSpoolBytes = uint64_t{1} << 30;
// Of a batch, but that one record may be more: larger files of the spool could not be read back at once.
constexpr size_t kMostBatchBytes = 16 << 20;
constexpr size_t kMostKnownClusters = 200'000;

// Where records of a kind, the first letter of their keys, have their ids.
struct IdColumn {
  char kind;
  const Table* table;
  const char* column;
  bool has_its_day;
};
constexpr IdColumn kIdColumns[] = {
    {'r', &kReports, "id", true}, {'e', &kEnds, "report_id", true}, {'s', &kRunEnds, "session_id", false},
    {'f', &kFrames, "id", false}, {'u', &kUsage, "id", false},      {'l', &kLosses, "id", false},
    {'c', &kTraces, "id", true}};

bool SaysNothing(const NewRecord& record) {
  const auto* losses = std::get_if<report::Losses>(&record);
  return losses != nullptr && losses->losses.empty();
}

}  // namespace

// The rows of one commit, in batches.
class RecordCommitter::Group {
 public:
  explicit Group(RecordCommitter* owner) : owner_(owner), rows_(owner->schema_, owner->versions_) {}

  void Add(const NewRecord& record, const std::string& key) {
    if (const auto* added = std::get_if<NewReport>(&record)) owner_->AddNewClusters(added->clusters, &rows_);
    std::visit([&](const auto& known) { rows_.Add(known); }, record);
    keys_.push_back(key);
    if (rows_.size_bytes() >= kMostBatchBytes) EndBatch();
  }

  Status Send() {
    if (!keys_.empty()) EndBatch();
    for (const Batch& batch : batches_) {
      if (Status sent = owner_->sender_.Send(batch); !sent.ok()) return sent;
    }
    return {};
  }

 private:
  void EndBatch() { batches_.push_back({rows_.Take(), std::exchange(keys_, {})}); }

  RecordCommitter* owner_;
  RecordRows rows_;
  std::vector<std::string> keys_;
  std::vector<Batch> batches_;
};

RecordCommitter::RecordCommitter(Connection* connection, const Schema* schema, Versions* versions,
                                 std::unique_ptr<BatchSpool> spool)
    : connection_(connection),
      schema_(schema),
      versions_(versions),
      sender_(connection, std::move(spool), kMostSpoolBytes) {}

base::Result<std::vector<CommitOutcome>> RecordCommitter::Commit(std::span<const NewRecord> records) {
  std::lock_guard lock(commit_mutex_);
  std::set<std::string> known = KeysThatAreThere(records);
  std::optional<int64_t> unknown_count;
  std::vector<CommitOutcome> outcomes;
  Group group(this);
  for (const NewRecord& record : records) {
    const std::string key = KeyOf(record);
    const bool is_unknown = std::holds_alternative<UnknownRecord>(record);
    if (is_unknown && !unknown_count) unknown_count = CountUnknown();
    if (SaysNothing(record) || known.contains(key) || sender_.IsOnItsWay(key)) {
      outcomes.push_back(CommitOutcome::kDuplicate);
    } else if (is_unknown && *unknown_count >= Store::kMaxUnknownRecords) {
      outcomes.push_back(CommitOutcome::kNoRoom);
    } else {
      if (is_unknown) ++*unknown_count;
      known.insert(key);
      group.Add(record, key);
      outcomes.push_back(CommitOutcome::kStored);
    }
  }
  const Status sent = group.Send();
  if (sent.ok()) return outcomes;
  ForgetClusters();
  return Status(StatusCode::kUnavailable, sent.message());
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
    // What comes again then is a row more, which reads leave out.
  }
  return keys;
}

void RecordCommitter::FindIds(std::span<const NewRecord> records, std::set<std::string>* keys) {
  std::map<char, std::vector<base::Uuid>> ids;
  for (const NewRecord& record : records) {
    const std::string key = KeyOf(record);
    if (const auto id = base::TryUuidFromBytes(std::string_view(key).substr(1))) ids[key[0]].push_back(*id);
  }
  for (const IdColumn& of : kIdColumns) {
    const auto wanted = ids.find(of.kind);
    if (wanted == ids.end()) continue;
    const ExternalTable external = ExternalTable::OfIds(wanted->second);
    const std::string column = of.column;
    connection_->Select(
        "SELECT " + column + " FROM " + schema_->All(*of.table) + " WHERE " + column +
            " IN (SELECT id FROM ids)" + (of.kind == 'e' ? " AND of_run = 0" : "") +
            (of.has_its_day ? " AND " + DaysOf(wanted->second) : ""),
        "u", [&](const Row& row) { keys->insert(of.kind + row.Text(0)); }, &external);
  }
}

void RecordCommitter::FindUnknown(std::span<const NewRecord> records, std::set<std::string>* keys) {
  std::vector<std::string> payloads;
  for (const NewRecord& record : records) {
    if (const auto* unknown = std::get_if<UnknownRecord>(&record)) payloads.push_back(unknown->payload);
  }
  if (payloads.empty()) return;
  const ExternalTable external = ExternalTable::OfTexts(payloads);
  connection_->Select(
      "SELECT type, payload FROM " + schema_->All(kUnknown) + " WHERE payload IN (SELECT text FROM texts)",
      "is",
      [&](const Row& row) {
        keys->insert(KeyOf(UnknownRecord{static_cast<report::RecordType>(row.Int(0)), row.Text(1)}));
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
