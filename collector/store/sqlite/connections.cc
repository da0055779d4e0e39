// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/connections.h"

#include <utility>

namespace lagwatch::collector {
namespace {

// More would only wait for the processor, and each keeps pages of its own.
constexpr size_t kMostReaders = 8;

}  // namespace

Connections::Reader::Reader(Connections* owner) : owner_(owner) {
  if (owner->is_in_memory()) {
    writer_lock_ = std::unique_lock(owner->writer_mutex_);
    database_ = &owner->writer_;
    return;
  }
  std::unique_lock lock(owner->readers_mutex_);
  owner->reader_is_free_.wait(lock, [&] { return owner->readers_in_use_ < kMostReaders; });
  if (owner->free_readers_.empty()) {
    own_ = std::make_unique<Database>(owner->path_);
    own_->Execute("PRAGMA query_only = ON; PRAGMA cache_size = -16384;");
  } else {
    own_ = std::move(owner->free_readers_.back());
    owner->free_readers_.pop_back();
  }
  ++owner->readers_in_use_;
  database_ = own_.get();
}

Connections::Reader::~Reader() {
  if (own_ == nullptr) return;
  {
    std::lock_guard lock(owner_->readers_mutex_);
    owner_->free_readers_.push_back(std::move(own_));
    --owner_->readers_in_use_;
  }
  owner_->reader_is_free_.notify_one();
}

}  // namespace lagwatch::collector
