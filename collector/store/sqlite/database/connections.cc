// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/database/connections.h"

#include <chrono>
#include <utility>

#include "collector/store/query_limit.h"

namespace lagwatch::collector {
namespace {

// More would only wait for the processor, and each keeps pages of its own.
constexpr size_t kMostReaders = 8;
// The interval at which a thread that waits for a connection checks whether the query is over.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

Connections::ScopedReader::ScopedReader(Connections* owner) : owner_(owner) {
  if (owner->is_in_memory()) {
    writer_lock_ = std::unique_lock(owner->writer_mutex_);
    database_ = &owner->writer_;
    database_->SetLimit(QueryLimit::OfThisThread());
    return;
  }
  std::unique_lock lock(owner->readers_mutex_);
  WaitForFreeReader(&lock);
  if (owner->free_readers_.empty()) {
    own_ = std::make_unique<Database>(owner->path_);
    own_->Execute("PRAGMA query_only = ON; PRAGMA cache_size = -16384;");
  } else {
    own_ = std::move(owner->free_readers_.back());
    owner->free_readers_.pop_back();
  }
  ++owner->readers_in_use_;
  database_ = own_.get();
  database_->SetLimit(QueryLimit::OfThisThread());
}

void Connections::ScopedReader::WaitForFreeReader(std::unique_lock<std::mutex>* lock) {
  const auto is_free = [&] { return owner_->readers_in_use_ < kMostReaders && owner_->quiet_wishes_ == 0; };
  const QueryLimit* limit = QueryLimit::OfThisThread();
  if (limit == nullptr) return owner_->reader_is_free_.wait(*lock, is_free);
  while (!owner_->reader_is_free_.wait_for(*lock, kLook, is_free)) {
    if (limit->IsOver()) throw SqliteError(limit->ToStatus().message());
  }
}

Connections::ScopedReader::~ScopedReader() {
  database_->SetLimit(nullptr);
  if (own_ == nullptr) return;
  {
    std::lock_guard lock(owner_->readers_mutex_);
    owner_->free_readers_.push_back(std::move(own_));
    --owner_->readers_in_use_;
  }
  owner_->reader_is_free_.notify_all();
}

void Connections::Reopen(const ScopedQuiet&, const std::function<void()>& between) {
  {
    std::lock_guard lock(readers_mutex_);
    free_readers_.clear();
  }
  writer_ = Database(":memory:");
  between();
  writer_ = Database(path_);
}

Connections::ScopedQuiet::ScopedQuiet(Connections* owner, std::chrono::milliseconds most_time)
    : owner_(owner) {
  std::unique_lock lock(owner_->readers_mutex_);
  ++owner_->quiet_wishes_;
  is_quiet_ = owner_->reader_is_free_.wait_for(lock, most_time, [&] { return owner_->readers_in_use_ == 0; });
}

Connections::ScopedQuiet::~ScopedQuiet() {
  {
    std::lock_guard lock(owner_->readers_mutex_);
    --owner_->quiet_wishes_;
  }
  owner_->reader_is_free_.notify_all();
}

}  // namespace lagwatch::collector
