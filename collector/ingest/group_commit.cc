// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/group_commit.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lagwatch::collector {
namespace {

// More would make the first wait for long, and saves little.
constexpr size_t kMostRecords = 4000;

}  // namespace

GroupCommit::GroupCommit(Store* store, OnCommit on_commit)
    : store_(store), on_commit_(std::move(on_commit)), thread_([this] { Run(); }) {}

GroupCommit::~GroupCommit() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void GroupCommit::Commit(std::vector<NewRecord> records, Done done) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(records), std::move(done)});
  }
  has_work_.notify_one();
}

void GroupCommit::Run() {
  for (;;) {
    std::vector<Waiting> group = TakeGroup();
    if (group.empty()) return;
    CommitTogether(std::move(group));
  }
}

// What waits, as far as it fits; nothing when it is over.
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

base::Result<std::vector<CommitOutcome>> GroupCommit::CommitNow(std::span<const NewRecord> records) {
  auto outcomes = store_->Commit(records);
  if (outcomes.ok() && on_commit_) on_commit_(records, *outcomes);
  return outcomes;
}

void GroupCommit::CommitTogether(std::vector<Waiting> group) {
  std::vector<NewRecord> records;
  std::vector<size_t> sizes;
  for (Waiting& each : group) {
    sizes.push_back(each.records.size());
    std::ranges::move(each.records, std::back_inserter(records));
  }
  const auto outcomes = CommitNow(records);
  ++commits_;
  // One request's records may be what the database refuses: the others are not to suffer for it.
  const bool is_each_alone = !outcomes.ok() && group.size() > 1;
  std::span<const NewRecord> rest = records;
  auto outcome = outcomes.ok() ? outcomes->begin() : std::vector<CommitOutcome>::const_iterator();
  for (size_t i = 0; i < group.size(); ++i) {
    const std::span<const NewRecord> own = rest.first(sizes[i]);
    rest = rest.subspan(sizes[i]);
    if (outcomes.ok()) {
      const auto begin = std::exchange(outcome, outcome + static_cast<ptrdiff_t>(sizes[i]));
      group[i].done(std::vector(begin, outcome));
    } else {
      group[i].done(is_each_alone ? CommitNow(own)
                                  : base::Result<std::vector<CommitOutcome>>(outcomes.status()));
    }
  }
}

}  // namespace lagwatch::collector
