// SPDX-License-Identifier: Apache-2.0
// Commits the records of several requests in one transaction. One thread writes transactions; another one
// waits until the disk has them, and answers their requests, while the first one writes the next.
// Thread-safe. Context: background.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class GroupCommit {
 public:
  // As StoreWriter::Commit returns them, of the own records alone.
  using Done = std::function<void(base::Result<std::vector<CommitOutcome>>)>;

  // Receives the outcome of a commit's records.
  using OnCommit = std::function<void(std::span<const NewRecord>, std::span<const CommitOutcome>)>;

  // Receives the time of a transaction ("write"), and of the wait for the disk ("sync").
  using OnTime = std::function<void(std::string_view part, std::chrono::nanoseconds taken)>;

  // Borrows `store`. `on_commit` and `on_time` are called on threads of this, too, and are to be as quick.
  explicit GroupCommit(StoreWriter* store, OnCommit on_commit = {}, OnTime on_time = {});
  // Commits waiting records first.
  ~GroupCommit();

  // All or nothing, in the order of the calls. `done` is called on a thread of this object, once the
  // records are on disk; it must be quick, because the next commit waits for it. The caller limits
  // the waiting records.
  void Commit(std::vector<NewRecord> records, Done done);

  // Records that wait for a transaction.
  size_t waiting_records();
  // Transactions so far.
  uint64_t commits() const { return commits_; }

 private:
  struct Waiting {
    std::vector<NewRecord> records;
    Done done;
  };

  // A group that the database has, and the disk perhaps not.
  struct Unsynced {
    std::vector<Waiting> group;  // without its records
    std::vector<NewRecord> records;
    std::vector<size_t> sizes;  // of the group's parts of them
    std::vector<CommitOutcome> outcomes;
  };

  void Write();
  std::vector<Waiting> TakeGroup();
  // Of no group when it was answered already.
  Unsynced WriteTogether(std::vector<Waiting> group);
  base::Result<std::vector<CommitOutcome>> CommitAlone(std::span<const NewRecord> records);
  void Sync();
  void Answer(Unsynced* written, const base::Status& synced) const;

  StoreWriter* store_;
  const OnCommit on_commit_;
  const OnTime on_time_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_unsynced_;
  std::condition_variable has_synced_;
  std::vector<Waiting> waiting_;    // guarded by mutex_, as the following ones
  std::vector<Unsynced> unsynced_;  // in their order
  bool is_stopping_ = false;        // no more come
  bool is_written_ = false;         // all that came
  std::atomic<uint64_t> commits_{0};
  std::thread writer_;
  std::thread syncer_;
};

}  // namespace lagwatch::collector
