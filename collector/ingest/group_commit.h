// SPDX-License-Identifier: Apache-2.0
// Commits the records of several requests in one transaction. One thread writes transactions; another one
// waits until the disk has them, and answers their requests, while the first one writes the next.
//
// Keys, and the addresses of each, share the writer fairly: transactions are short, all senders that wait
// take turns in them, and a request with many records is written in several. Thread-safe. Context:
// background.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "collector/ingest/sender.h"
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

  // In the order of a sender's calls. After an error a part may be stored, and is a duplicate when it comes
  // again. `done` is called on a thread of this object, once the records are on disk; it must be quick,
  // because the next commit waits for it. The caller limits the waiting records.
  void Commit(std::vector<NewRecord> records, Done done, const Sender& sender = {});

  // Records that wait for a transaction.
  size_t waiting_records();
  // Transactions so far.
  uint64_t commits() const { return commits_; }

 private:
  // A call of Commit().
  struct Request {
    std::vector<NewRecord> records;
    Done done;
    // Guarded by mutex_, like the following ones.
    size_t taken = 0;     // of the records, by the writer
    size_t answered = 0;  // likewise, with an outcome
    bool is_over = false;
    std::vector<CommitOutcome> outcomes;
  };
  struct AddressQueue {
    std::string address;
    std::deque<std::shared_ptr<Request>> requests;
  };
  struct KeyQueue {
    std::string key;
    std::deque<AddressQueue> addresses;  // the next one first; none is empty
  };
  // Records of one request that are written together.
  struct Part {
    std::shared_ptr<Request> request;
    size_t begin = 0;
    size_t size = 0;
  };

  // A group that the database has, and the disk perhaps not.
  struct Unsynced {
    std::vector<Part> group;
    std::vector<NewRecord> records;
    std::vector<CommitOutcome> outcomes;
    uint64_t lost_logs = 0;  // the store's, before it was written
  };

  void Write();
  std::vector<Part> TakeGroup();
  // The next sender's turn, with the mutex held.
  Part TakePart();
  // Of no group when it was answered already.
  Unsynced WriteTogether(std::vector<Part> group);
  // Calls the request's `done` when this was its last part, or the first that failed.
  void AnswerPart(const Part& part, const base::Result<std::vector<CommitOutcome>>& outcomes);
  base::Result<std::vector<CommitOutcome>> CommitAlone(std::span<const NewRecord> records);
  void Sync();
  void Answer(Unsynced* written, const base::Status& synced);

  StoreWriter* store_;
  const OnCommit on_commit_;
  const OnTime on_time_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_unsynced_;
  std::condition_variable has_synced_;
  std::deque<KeyQueue> waiting_;    // guarded by mutex_, as the following ones; the next key first
  std::vector<Unsynced> unsynced_;  // in their order
  bool is_stopping_ = false;        // no more come
  bool is_written_ = false;         // all that came
  std::atomic<uint64_t> commits_{0};
  double record_s_ = 0.0002;  // of late; the writer's
  std::thread writer_;
  std::thread syncer_;
};

}  // namespace lagwatch::collector
