// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/group_commit.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace lagwatch::collector {
namespace {

// A group is as large as can be written in this time, so that the next one does not wait for long.
constexpr double kGroupS = 0.04;
constexpr size_t kLeastRecords = 64;
constexpr size_t kMostRecords = 4000;
// Of a sender's turn.
constexpr size_t kPartRecords = 32;
constexpr double kWeightOfLast = 0.3;  // of the last group's time in that of a record
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

void GroupCommit::Commit(std::vector<NewRecord> records, Done done, const Sender& sender) {
  auto request = std::make_shared<Request>();
  request->outcomes.resize(records.size());
  request->records = std::move(records);
  request->done = std::move(done);
  {
    std::lock_guard lock(mutex_);
    auto key = std::ranges::find(waiting_, sender.key, &KeyQueue::key);
    if (key == waiting_.end()) key = waiting_.insert(waiting_.end(), {.key = sender.key, .addresses = {}});
    auto address = std::ranges::find(key->addresses, sender.address, &AddressQueue::address);
    if (address == key->addresses.end())
      address = key->addresses.insert(key->addresses.end(), {.address = sender.address, .requests = {}});
    address->requests.push_back(std::move(request));
  }
  has_work_.notify_one();
}

size_t GroupCommit::waiting_records() {
  std::lock_guard lock(mutex_);
  size_t records = 0;
  for (const KeyQueue& key : waiting_)
    for (const AddressQueue& address : key.addresses)
      for (const auto& request : address.requests) records += request->records.size() - request->taken;
  return records;
}

void GroupCommit::Write() {
  for (;;) {
    std::vector<Part> group = TakeGroup();
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
std::vector<GroupCommit::Part> GroupCommit::TakeGroup() {
  const auto fitting = static_cast<size_t>(std::min(kGroupS / record_s_, 1e6));
  const size_t most = std::clamp(fitting, kLeastRecords, kMostRecords);
  std::unique_lock lock(mutex_);
  has_work_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
  std::vector<Part> group;
  for (size_t records = 0; records < most && !waiting_.empty();) {
    Part part = TakePart();
    if (!part.request->is_over) {
      records += part.size;
      group.push_back(std::move(part));
    }
    if (group.empty() && waiting_.empty())
      has_work_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
  }
  return group;
}

GroupCommit::Part GroupCommit::TakePart() {
  KeyQueue key = std::move(waiting_.front());
  waiting_.pop_front();
  AddressQueue address = std::move(key.addresses.front());
  key.addresses.pop_front();
  const std::shared_ptr<Request> request = address.requests.front();
  const size_t left = request->records.size() - request->taken;
  const size_t size = request->is_over ? left : std::min(left, kPartRecords);
  Part part{.request = request, .begin = request->taken, .size = size};
  request->taken += size;
  if (size == left) address.requests.pop_front();
  if (!address.requests.empty()) key.addresses.push_back(std::move(address));
  if (!key.addresses.empty()) waiting_.push_back(std::move(key));
  return part;
}

GroupCommit::Unsynced GroupCommit::WriteTogether(std::vector<Part> group) {
  Unsynced written;
  for (Part& each : group) {
    const auto first = each.request->records.begin() + static_cast<ptrdiff_t>(each.begin);
    std::move(first, first + static_cast<ptrdiff_t>(each.size), std::back_inserter(written.records));
  }
  written.lost_logs = store_->LostLogs();
  const auto begin = std::chrono::steady_clock::now();
  auto outcomes = store_->CommitUnsynced(written.records);
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
  if (on_time_) on_time_("write", taken);
  ++commits_;
  const double taken_s = std::chrono::duration<double>(taken).count();
  const double record_s = taken_s / static_cast<double>(std::max<size_t>(written.records.size(), 1));
  record_s_ = std::max(record_s_ + kWeightOfLast * (record_s - record_s_), 1e-7);
  if (outcomes.ok()) {
    written.group = std::move(group);
    written.outcomes = std::move(*outcomes);
    return written;
  }
  // One request's records may be what the database refuses: the others are not to suffer for it.
  std::span<const NewRecord> rest = written.records;
  for (const Part& each : group) {
    const std::span<const NewRecord> own = rest.first(each.size);
    rest = rest.subspan(each.size);
    AnswerPart(each, group.size() > 1 ? CommitAlone(own)
                                      : base::Result<std::vector<CommitOutcome>>(outcomes.status()));
  }
  return {};
}

void GroupCommit::AnswerPart(const Part& part, const base::Result<std::vector<CommitOutcome>>& outcomes) {
  Request& request = *part.request;
  {
    std::lock_guard lock(mutex_);
    if (request.is_over) return;
    if (outcomes.ok()) {
      std::ranges::copy(*outcomes, request.outcomes.begin() + static_cast<ptrdiff_t>(part.begin));
      request.answered += part.size;
      if (request.answered < request.records.size()) return;
    }
    request.is_over = true;
  }
  if (outcomes.ok()) return request.done(std::move(request.outcomes));
  request.done(outcomes.status());
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
    for (Unsynced& each : written) Answer(&each, synced.ok() ? store_->CheckNotLost(each.lost_logs) : synced);
  }
}

void GroupCommit::Answer(Unsynced* written, const base::Status& synced) {
  if (synced.ok() && on_commit_) on_commit_(written->records, written->outcomes);
  auto outcome = written->outcomes.begin();
  for (const Part& each : written->group) {
    const auto begin = std::exchange(outcome, outcome + static_cast<ptrdiff_t>(each.size));
    if (synced.ok()) {
      AnswerPart(each, std::vector(begin, outcome));
    } else {
      AnswerPart(each, synced);
    }
  }
}

}  // namespace lagwatch::collector
