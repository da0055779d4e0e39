// SPDX-License-Identifier: Apache-2.0
// Takes records, each once. Thread-safe. Context: background.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/store/clickhouse/insert/batch_sender.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class RecordCommitter {
 public:
  // Borrows all but the spool.
  RecordCommitter(Connection* connection, const Schema* schema, Versions* versions,
                  std::unique_ptr<BatchSpool> spool, LogLine log);

  // As StoreWriter::Commit.
  base::Result<std::vector<CommitOutcome>> Commit(std::span<const NewRecord> records);
  // The reason why committed records wait; empty if they do not.
  std::string error() const { return sender_.error(); }
  RefusedBatches refused() const { return sender_.refused(); }
  // Waits until what was committed before the call is in ClickHouse. Errors: kUnavailable when it is not yet.
  base::Status Drain() { return sender_.Drain(std::chrono::seconds(3)); }
  // Rows that were set aside (batch_sender.h).
  std::unique_lock<std::mutex> HoldResent() { return sender_.HoldResent(); }
  base::Status EditRefused(const std::function<bool(Batch*)>& edit) { return sender_.EditRefused(edit); }
  // Moves reports to their clusters. `reports` are as they were.
  base::Status Move(std::span<const ReportRow> reports, const std::map<std::string, const Reclustered*>& to);

 private:
  class Group;

  // Adds the rows of clusters that were not known here before, to rows that are then sent.
  void AddNewClusters(const ClusterPath& path, RecordRows* rows);
  // The clusters that were added did not reach ClickHouse.
  void ForgetClusters();
  // Of reports that have ends among these: the hangs that are known.
  std::map<std::string, base::Uuid> HangsOfEnded(std::span<const NewRecord> records);
  // Of those that ClickHouse has; of none while it does not answer.
  std::set<std::string> KeysThatAreThere(std::span<const NewRecord> records);
  void FindIds(std::span<const NewRecord> records, std::set<std::string>* keys);
  void FindUnknown(std::span<const NewRecord> records, std::set<std::string>* keys);
  int64_t CountUnknown();

  Connection* connection_;
  const Schema* schema_;
  Versions* versions_;
  BatchSender sender_;
  std::mutex commit_mutex_;  // of what comes twice at the same time, one is the second
  std::mutex clusters_mutex_;
  std::set<std::string> known_clusters_;  // guarded by clusters_mutex_
};

}  // namespace lagwatch::collector
