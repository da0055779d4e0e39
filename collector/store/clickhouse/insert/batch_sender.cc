// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/batch_sender.h"

#include <algorithm>
#include <utility>

#include "collector/store/clickhouse/insert/batch_rows.h"

namespace lagwatch::collector {
namespace {

constexpr std::chrono::seconds kLongestWait{3};
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5000};
// Looks for what a person wants sent again.
constexpr std::chrono::milliseconds kLookPause{2000};
// A batch that was refused so often is not tried again as it is.
constexpr int kRefusalsForGood = 3;

}  // namespace

BatchSender::BatchSender(Connection* connection, std::unique_ptr<BatchSpool> spool, uint64_t most_bytes,
                         LogLine log)
    : connection_(connection),
      most_bytes_(most_bytes),
      log_(std::move(log)),
      refused_(spool->env(), spool->directory()),
      spool_(std::move(spool)) {
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
  const auto number = LAGWATCH_TRY(spool_->Append(batch));
  keys_.insert(batch.keys.begin(), batch.keys.end());
  changed_.notify_all();
  changed_.wait_for(lock, kLongestWait, [&] {
    return !error_.empty() || is_stopping_ || spool_->numbers().empty() || spool_->numbers().front() > number;
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

base::Status BatchSender::Drain(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  if (spool_->numbers().empty()) return {};
  const uint64_t last = spool_->numbers().back();
  const auto is_sent = [&] { return spool_->numbers().empty() || spool_->numbers().front() > last; };
  changed_.wait_for(lock, most, [&] { return is_stopping_ || is_sent(); });
  if (is_sent()) return {};
  return {base::StatusCode::kUnavailable, "what was received before waits on this machine" +
                                              (error_.empty() ? std::string() : ": " + error_)};
}

void BatchSender::Run() {
  std::chrono::milliseconds pause = kFirstPause;
  auto look_at = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (is_stopping_) return;
    if (std::chrono::steady_clock::now() >= look_at) {
      lock.unlock();
      TakeResent();
      lock.lock();
      look_at = std::chrono::steady_clock::now() + kLookPause;
    }
    changed_.wait_until(lock, look_at, [&] { return is_stopping_ || !spool_->numbers().empty(); });
    if (is_stopping_ || spool_->numbers().empty()) continue;
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
    log_(batch.status().message() + ": " + std::to_string(number) +
         ".batch.damaged stays in the spool's directory");
    std::lock_guard lock(mutex_);
    return spool_->SetFirstAside();
  }
  try {
    const Delivery delivery = Deliver(
        *batch,
        [this](const std::string& target, const std::string& rows) { connection_->Insert(target, rows); },
        !MayPass(number));
    if (base::Status kept = SetAside(delivery); !kept.ok()) return kept;
  } catch (const ClickHouseError& error) {
    if (error.is_refusal) {
      refusals_ = refused_number_ == number ? refusals_ + 1 : 1;
      refused_number_ = number;
    }
    return {base::StatusCode::kUnavailable, error.what()};
  }
  std::lock_guard lock(mutex_);
  for (const std::string& key : batch->keys) {
    if (const auto found = keys_.find(key); found != keys_.end()) keys_.erase(found);
  }
  return spool_->RemoveFirst();
}

bool BatchSender::MayPass(uint64_t number) const {
  return refused_number_ != number || refusals_ < kRefusalsForGood;
}

// Before the batch leaves the spool: what is set aside is on disk by then.
base::Status BatchSender::SetAside(const Delivery& delivery) {
  if (delivery.refused.parts.empty()) return {};
  const auto path = LAGWATCH_TRY(refused_.Add(delivery.refused));
  log_("ClickHouse refused " + std::to_string(delivery.refused_rows) +
       " rows for good; they are set aside in " + path + ": " + delivery.reason);
  return {};
}

void BatchSender::TakeResent() {
  refused_.Refresh();
  const std::unique_lock hold(resent_mutex_, std::try_to_lock);
  if (!hold.owns_lock()) return;
  for (const std::string& path : refused_.FindResent()) {
    auto batch = refused_.ReadResent(path);
    if (!batch.ok()) {
      if (batch.status().code() == base::StatusCode::kInternal) refused_.SetDamagedAside(path);
      log_("cannot send " + path + " again: " + batch.status().message());
      continue;
    }
    RenewMarks(&*batch, &resent_versions_);
    {
      std::lock_guard lock(mutex_);
      if (spool_->size_bytes() >= most_bytes_) return;
      if (const auto number = spool_->Append(*batch); !number.ok()) {
        return log_("cannot send " + path + " again: " + number.status().message());
      }
    }
    // When this fails, the rows are sent once more, and count once.
    if (base::Status removed = refused_.RemoveResent(path); !removed.ok()) return log_(removed.message());
  }
}

}  // namespace lagwatch::collector
