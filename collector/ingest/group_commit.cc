// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/group_commit.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lagwatch::collector {
namespace {

// More would make the first wait for long, and saves little.
constexpr size_t kMostRecords = 4000;
// Written and not synced. With more, answers would only come later.
constexpr size_t kMostUnsyncedGroups = 2;

}  // namespace

GroupCommit::GroupCommit(StoreWriter* store, OnCommit on_commit, OnTime on_time)
    : store_(store),
      on_commit_(std::move(on_commit)),
      on_time_(std::move(on_time)),
      writer_([this] { Write(); }),
      syncer_([this] { Sync(); }) {}

GroupCommit::~GroupCommit() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_work_.notify_one();
  writer_.join();
  {
    std::lock_guard lock(mutex_);
    is_written_ = true;
  }
  has_unsynced_.notify_one();
  syncer_.join();
}

void GroupCommit::Commit(std::vector<NewRecord> records, Done done) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(records), std::move(done)});
  }
  has_work_.notify_one();
}

size_t GroupCommit::waiting_records() {
  std::lock_guard lock(mutex_);
  size_t records = 0;
  for (const Waiting& each : waiting_) records += each.records.size();
  return records;
}

void GroupCommit::Write() {
  for (;;) {
    std::vector<Waiting> group = TakeGroup();
    if (group.empty()) return;
    Unsynced written = WriteTogether(std::move(group));
    if (written.group.empty()) continue;
    std::unique_lock lock(mutex_);
    has_synced_.wait(lock, [&] { return unsynced_.size() < kMostUnsyncedGroups; });
    unsynced_.push_back(std::move(written));
    lock.unlock();
    has_unsynced_.notify_one();
  }
}

// The waiting records, as far as they fit; nothing when it is over.
std::vector<GroupCommit::Waiting> GroupCommit::TakeGroup() {
  std::unique_lock lock(mutex_);
  has_work_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
  size_t records = 0;
  const auto end = std::ranges::find_if(waiting_, [&](const Waiting& each) {
    const bool is_over = records > 0 && records + each.records.size() > kMostRecords;
    records += each.records.size();
    return is_over;
  });
  std::vector<Waiting> group(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return group;
}

GroupCommit::Unsynced GroupCommit::WriteTogether(std::vector<Waiting> group) {
  Unsynced written;
  for (Waiting& each : group) {
    written.sizes.push_back(each.records.size());
    std::ranges::move(each.records, std::back_inserter(written.records));
    each.records.clear();
  }
  const auto begin = std::chrono::steady_clock::now();
  auto outcomes = store_->CommitUnsynced(written.records);
  if (on_time_) on_time_("write", std::chrono::steady_clock::now() - begin);
  ++commits_;
  if (outcomes.ok()) {
    written.group = std::move(group);
    written.outcomes = std::move(*outcomes);
    return written;
  }
  // One request's records may be what the database refuses: the others are not to suffer for it.
  std::span<const NewRecord> rest = written.records;
  for (size_t i = 0; i < group.size(); ++i) {
    const std::span<const NewRecord> own = rest.first(written.sizes[i]);
    rest = rest.subspan(written.sizes[i]);
    group[i].done(group.size() > 1 ? CommitAlone(own)
                                   : base::Result<std::vector<CommitOutcome>>(outcomes.status()));
  }
  return {};
}

base::Result<std::vector<CommitOutcome>> GroupCommit::CommitAlone(std::span<const NewRecord> records) {
  auto outcomes = store_->Commit(records);
  if (outcomes.ok() && on_commit_) on_commit_(records, *outcomes);
  return outcomes;
}

void GroupCommit::Sync() {
  for (;;) {
    std::vector<Unsynced> written;
    {
      std::unique_lock lock(mutex_);
      has_unsynced_.wait(lock, [&] { return is_written_ || !unsynced_.empty(); });
      if (unsynced_.empty()) return;
      written = std::exchange(unsynced_, {});
    }
    has_synced_.notify_one();
    const auto begin = std::chrono::steady_clock::now();
    const base::Status synced = store_->Sync();
    if (on_time_) on_time_("sync", std::chrono::steady_clock::now() - begin);
    for (Unsynced& each : written) Answer(&each, synced);
  }
}

void GroupCommit::Answer(Unsynced* written, const base::Status& synced) const {
  if (synced.ok() && on_commit_) on_commit_(written->records, written->outcomes);
  auto outcome = written->outcomes.begin();
  for (size_t i = 0; i < written->group.size(); ++i) {
    const auto begin = std::exchange(outcome, outcome + static_cast<ptrdiff_t>(written->sizes[i]));
    if (synced.ok()) {
      written->group[i].done(std::vector(begin, outcome));
    } else {
      written->group[i].done(synced);
    }
  }
}

}  // namespace lagwatch::collector
