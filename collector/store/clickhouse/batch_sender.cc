// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/batch_sender.h"

#include <algorithm>
#include <utility>

namespace lagwatch::collector {
namespace {

constexpr std::chrono::seconds kLongestWait{3};
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5000};

}  // namespace

BatchSender::BatchSender(Connection* connection, std::unique_ptr<BatchSpool> spool, uint64_t most_bytes)
    : connection_(connection), most_bytes_(most_bytes), spool_(std::move(spool)) {
  for (uint64_t number : spool_->numbers()) {
    if (const auto batch = spool_->Read(number); batch.ok())
      keys_.insert(batch->keys.begin(), batch->keys.end());
  }
  thread_ = std::thread([this] { Run(); });
}

BatchSender::~BatchSender() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

base::Status BatchSender::Send(const Batch& batch) {
  std::unique_lock lock(mutex_);
  if (spool_->size_bytes() >= most_bytes_)
    return {base::StatusCode::kUnavailable,
            "ClickHouse does not answer, and what waits for it is as much as may"};
  const auto number = spool_->Append(batch);
  if (!number.ok()) return number.status();
  keys_.insert(batch.keys.begin(), batch.keys.end());
  changed_.notify_all();
  changed_.wait_for(lock, kLongestWait, [&] {
    return !error_.empty() || is_stopping_ || spool_->numbers().empty() ||
           spool_->numbers().front() > *number;
  });
  return {};
}

bool BatchSender::IsOnItsWay(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return keys_.contains(key);
}

std::string BatchSender::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

void BatchSender::Run() {
  std::chrono::milliseconds pause = kFirstPause;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopping_ || !spool_->numbers().empty(); });
    if (is_stopping_) return;
    const uint64_t number = spool_->numbers().front();
    lock.unlock();
    const base::Status sent = SendFirst(number);
    lock.lock();
    error_ = sent.message();
    changed_.notify_all();
    if (sent.ok()) {
      pause = kFirstPause;
      continue;
    }
    changed_.wait_for(lock, pause, [&] { return is_stopping_; });
    pause = std::min(2 * pause, kLongestPause);
  }
}

base::Status BatchSender::SendFirst(uint64_t number) {
  const auto batch = spool_->Read(number);
  if (!batch.ok()) {
    if (batch.status().code() != base::StatusCode::kInternal) return batch.status();
    std::lock_guard lock(mutex_);
    return spool_->SetFirstAside();
  }
  try {
    for (const Batch::Part& part : batch->parts) connection_->Insert(part.target, part.rows);
  } catch (const ClickHouseError& error) {
    return {base::StatusCode::kUnavailable, error.what()};
  }
  std::lock_guard lock(mutex_);
  for (const std::string& key : batch->keys) {
    if (const auto found = keys_.find(key); found != keys_.end()) keys_.erase(found);
  }
  return spool_->RemoveFirst();
}

}  // namespace lagwatch::collector
