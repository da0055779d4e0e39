// SPDX-License-Identifier: Apache-2.0
// The newest reports, for listeners that receive each as it comes. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

class ReportFeed {
 public:
  static constexpr size_t kMaxKept = 1000;
  static constexpr uint64_t kMaxListeners = 100;

  struct PublishedReport {
    ReportRow row;
    std::vector<std::string> cause;  // its level-1 cluster's frames
  };

  // Publishes the stored records of a commit.
  void Publish(std::span<const NewRecord> records, std::span<const CommitOutcome> outcomes);

  // The number published so far.
  uint64_t count() const;
  // Those after the first `*seen` that are still kept, the oldest first; `*seen` becomes the count.
  std::vector<PublishedReport> Since(uint64_t* seen) const;
  // The number published up to and with report `id`, if that is still kept.
  std::optional<uint64_t> CountAt(const base::Uuid& id) const;

 private:
  mutable std::mutex mutex_;
  std::deque<PublishedReport> newest_;  // guarded by mutex_
  uint64_t count_ = 0;                  // guarded by mutex_
};

}  // namespace lagwatch::collector
