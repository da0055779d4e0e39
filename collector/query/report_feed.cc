// SPDX-License-Identifier: Apache-2.0
#include "collector/query/report_feed.h"

#include <algorithm>

namespace lagwatch::collector {

void ReportFeed::Publish(std::span<const NewRecord> records, std::span<const CommitOutcome> outcomes) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < std::min(records.size(), outcomes.size()); ++i) {
    const auto* report = std::get_if<NewReport>(&records[i]);
    if (report == nullptr || outcomes[i] != CommitOutcome::kStored) continue;
    newest_.push_back({report->row, report->clusters[0].frames});
    if (newest_.size() > kMaxKept) newest_.pop_front();
    ++count_;
  }
}

uint64_t ReportFeed::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

std::vector<ReportFeed::PublishedReport> ReportFeed::Since(uint64_t* seen) const {
  std::lock_guard lock(mutex_);
  const auto wanted =
      static_cast<ptrdiff_t>(std::min<uint64_t>(count_ - std::min(*seen, count_), newest_.size()));
  *seen = count_;
  return {newest_.end() - wanted, newest_.end()};
}

std::optional<uint64_t> ReportFeed::CountAt(const base::Uuid& id) const {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < newest_.size(); ++i) {
    if (newest_[i].row.id == id) return count_ - newest_.size() + i + 1;
  }
  return std::nullopt;
}

}  // namespace lagwatch::collector
