// SPDX-License-Identifier: Apache-2.0
// Commits what several requests bring in one transaction: the disk is waited for once for all that came
// meanwhile. Thread-safe. Context: background.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class GroupCommit {
 public:
  // As Store::Commit returns them, of the own records alone.
  using Done = std::function<void(base::Result<std::vector<CommitOutcome>>)>;

  // What became of a commit's records.
  using OnCommit = std::function<void(std::span<const NewRecord>, std::span<const CommitOutcome>)>;

  // Borrows `store`. `on_commit` is called on a thread of this, too, and is to be as quick.
  explicit GroupCommit(Store* store, OnCommit on_commit = {});
  // Commits what waits first.
  ~GroupCommit();

  // All or nothing, in the order of the calls. `done` is called on a thread of this, after the commit; it is
  // to be quick, because the next commit waits for it. How much may wait is the caller's to limit.
  void Commit(std::vector<NewRecord> records, Done done);

  // Transactions so far.
  uint64_t commits() const { return commits_; }

 private:
  struct Waiting {
    std::vector<NewRecord> records;
    Done done;
  };

  void Run();
  std::vector<Waiting> TakeGroup();
  void CommitTogether(std::vector<Waiting> group);
  base::Result<std::vector<CommitOutcome>> CommitNow(std::span<const NewRecord> records);

  Store* store_;
  const OnCommit on_commit_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::vector<Waiting> waiting_;  // guarded by mutex_
  bool is_stopping_ = false;      // guarded by mutex_
  std::atomic<uint64_t> commits_{0};
  std::thread thread_;
};

}  // namespace lagwatch::collector
