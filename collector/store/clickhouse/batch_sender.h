// SPDX-License-Identifier: Apache-2.0
// Sends batches to ClickHouse by a thread of its own, one after the other, each until it is there: those that
// are appended, and first those that an earlier process left behind. Thread-safe. Context: background.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "base/status.h"
#include "collector/store/clickhouse/batch_spool.h"
#include "collector/store/clickhouse/connection.h"

namespace lagwatch::collector {

class BatchSender {
 public:
  // Borrows `connection`. The spool refuses more than `most_bytes`.
  BatchSender(Connection* connection, std::unique_ptr<BatchSpool> spool, uint64_t most_bytes);
  // Ends with what is being sent; the rest stays in the spool.
  ~BatchSender();

  // The batch is on disk when it returns, and will be sent. Waits for that, but not for long, and not at all
  // while ClickHouse does not answer. Errors: kUnavailable when there is no room; kIo.
  base::Status Send(const Batch& batch);
  // Whether a batch that has that key is on its way.
  bool IsOnItsWay(const std::string& key) const;
  // Why ClickHouse did not take what it was last sent; empty when it did.
  std::string error() const;

 private:
  void Run();
  base::Status SendFirst(uint64_t number);

  Connection* const connection_;
  const uint64_t most_bytes_;
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
