// SPDX-License-Identifier: Apache-2.0
// Sends batches to ClickHouse by a thread of its own, one after the other, each until it is there: those that
// are appended, and first those that an earlier process left behind. Rows that ClickHouse refuses for good
// are set aside (refused_folder.h), so that the batches behind them go on. Thread-safe. Context: background.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "base/status.h"
#include "collector/store/clickhouse/insert/batch_delivery.h"
#include "collector/store/clickhouse/insert/batch_spool.h"
#include "collector/store/clickhouse/insert/refused_folder.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/versions.h"

namespace lagwatch::collector {

// Takes a log line for operators. Called on threads of the store.
using LogLine = std::function<void(const std::string& line)>;

class BatchSender {
 public:
  // Borrows `connection`. The spool refuses more than `most_bytes`.
  BatchSender(Connection* connection, std::unique_ptr<BatchSpool> spool, uint64_t most_bytes, LogLine log);
  // Ends with what is being sent; the rest stays in the spool.
  ~BatchSender();

  // The batch is on disk when it returns, and will be sent. Waits for that, but not for long, and not at all
  // while ClickHouse does not answer. Errors: kUnavailable when there is no room; kIo.
  base::Status Send(const Batch& batch);
  // Whether a batch that has that key is on its way.
  bool IsOnItsWay(const std::string& key) const;
  // The reason why ClickHouse did not accept the last batch; empty if it did.
  std::string error() const;
  // Waits until all that was appended before the call has come to ClickHouse or was set aside, for `most` at
  // most. Errors: kUnavailable when some still waits; the message says why.
  base::Status Drain(std::chrono::milliseconds most);
  RefusedBatches refused() const { return refused_.state(); }
  // Nothing is taken from `resend` as long as the caller has it.
  std::unique_lock<std::mutex> HoldResent() { return std::unique_lock(resent_mutex_); }
  // As RefusedFolder::EditAll.
  base::Status EditRefused(const std::function<bool(Batch*)>& edit) { return refused_.EditAll(edit); }

 private:
  void Run();
  base::Status SendFirst(uint64_t number);
  // Whether the batch was not refused often enough to be set aside.
  bool MayPass(uint64_t number) const;
  // Keeps what was refused, if something was.
  base::Status SetAside(const Delivery& delivery);
  // Appends what a person has moved to `resend`.
  void TakeResent();

  Connection* const connection_;
  const uint64_t most_bytes_;
  const LogLine log_;
  RefusedFolder refused_;
  std::mutex resent_mutex_;
  // The thread's own:
  Versions resent_versions_;  // apart from the store's, whose batches have their own order
  uint64_t refused_number_ = 0;
  int refusals_ = 0;  // of that batch, one after the other
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::unique_ptr<BatchSpool> spool_;
  std::unordered_multiset<std::string> keys_;  // of what is on its way
  std::string error_;                          // of the last attempt; empty when there was none
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace lagwatch::collector
