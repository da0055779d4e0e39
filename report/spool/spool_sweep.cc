// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_sweep.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/spool/segment_format.h"
#include "report/spool/spool_directory.h"

namespace lagwatch::report {
namespace {

// Files that are replaced as a whole are first written under such names: the ledger (ledger_file.h) and the
// remote configs (config_file_name.h).
bool IsTemporaryName(std::string_view name) {
  constexpr std::string_view kConfig = "config-";
  constexpr size_t kHashDigits = 16;
  if (name == "ledger.tmp") return true;
  return name.starts_with(kConfig) && name.ends_with(".new") &&
         name.find_first_not_of(base::kHexDigits, kConfig.size()) == kConfig.size() + kHashDigits &&
         name.size() == kConfig.size() + kHashDigits + kNewSuffix.size();
}

bool IsRejected(std::string_view name) { return name.ends_with(kRejectedSuffix); }

class Sweep {
 public:
  Sweep(base::Env* env, const std::string& directory, const SweepLimits& limits, int64_t now_wall_ms,
        SweepVisitor* visitor)
      : env_(env),
        directory_(directory),
        limits_(limits),
        now_wall_ms_(now_wall_ms),
        visitor_(visitor),
        reader_(env, directory) {}

  SweepResult Run(const std::vector<std::string>& names) {
    const std::optional<uint32_t> owner = OwnerOfDirectory(env_, directory_);
    for (const std::string& name : names) {
      base::FileFacts facts;
      if (env_->Look(PathOf(name).c_str(), &facts) == 0 && IsOwnersFile(facts, owner)) Sort(name, facts);
    }
    // Most of the time none is too many, and nothing has to be read.
    if (IsTooMuch()) {
      for (size_t i = 0; i < names_.size(); ++i) files_[i].priority = PriorityOf(i);
    }
    RemoveAll(PickRemovals(files_, limits_.retention, now_wall_ms_));
    return result_;
  }

 private:
  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }

  void Sort(const std::string& name, const base::FileFacts& facts) {
    const std::string_view suffix = SegmentSuffix(name);
    const bool is_old = now_wall_ms_ - facts.modified_wall_ms > limits_.orphan_ms;
    if (suffix.empty() ? IsTemporaryName(name) && is_old : suffix == kNewSuffix && is_old && !IsLive(name))
      return RemoveOrphan(name);
    if (suffix.empty() || suffix == kNewSuffix || (suffix == kOpenSuffix && IsLive(name))) return;
    if (facts.size_bytes == 0) return RemoveOrphan(name);
    names_.push_back(name);
    files_.push_back(
        {.written_wall_ms = facts.modified_wall_ms, .size_bytes = facts.size_bytes, .priority = {}});
  }

  bool IsLive(const std::string& name) { return env_->IsLocked(PathOf(name).c_str()); }

  void RemoveOrphan(const std::string& name) {
    if (env_->Remove(PathOf(name).c_str()) == 0) ++result_.orphans_removed;
  }

  bool IsTooMuch() const {
    const auto removals = PickRemovals(files_, limits_.retention, now_wall_ms_);
    return std::ranges::any_of(removals, [](const policies::Removal& removal) {
      return removal.reason == policies::RemovalReason::kTooMuch;
    });
  }

  policies::ReportPriority PriorityOf(size_t index) {
    if (IsRejected(names_[index])) return policies::ReportPriority::kSlow;
    auto segment = reader_.Read(names_[index]);
    if (!segment.ok() || segment->records.empty()) return policies::ReportPriority::kSlow;
    const SegmentFacts& facts = facts_.emplace(index, FactsOf(*segment)).first->second;
    auto priority = policies::ReportPriority::kTrace;
    for (const RecordFacts& record : facts.records) priority = std::max(priority, report::PriorityOf(record));
    return priority;
  }

  void RemoveAll(std::span<const policies::Removal> removals) {
    for (bool goes_on = true; goes_on && !removals.empty(); goes_on = goes_on && visitor_->GoesOn()) {
      const size_t count = std::min(removals.size(), kSweepBatch);
      goes_on = RemoveBatch(removals.first(count));
      removals = removals.subspan(count);
    }
    result_.not_removed += removals.size();
  }

  // False when what was counted cannot be kept.
  bool RemoveBatch(std::span<const policies::Removal> batch) {
    std::vector<size_t> counted;
    for (const policies::Removal& removal : batch) {
      if (IsCounted(removal)) counted.push_back(removal.index);
    }
    const bool is_kept = counted.empty() || visitor_->KeepCounts();
    if (!is_kept) counted.clear();
    result_.not_removed += batch.size() - counted.size();
    for (size_t index : counted) RemoveSegment(index);
    return is_kept;
  }

  void RemoveSegment(size_t index) {
    const std::string& name = names_[index];
    const int error = env_->Remove(PathOf(name).c_str());
    if (error == ENOENT) return;
    ++(error == 0 ? result_.segments_removed : result_.not_removed);
    if (error != 0) return;
    result_.bytes_removed += files_[index].size_bytes;
    if (!IsRejected(name)) visitor_->OnRemoved(name);
  }

  bool IsCounted(const policies::Removal& removal) {
    const std::string& name = names_[removal.index];
    const uint64_t size_bytes = files_[removal.index].size_bytes;
    if (IsRejected(name)) return true;
    if (const auto known = facts_.find(removal.index); known != facts_.end())
      return visitor_->OnRemoval(name, known->second, removal.reason);
    const auto segment = reader_.Read(name);
    if (segment.ok()) return visitor_->OnRemoval(name, FactsOf(*segment), removal.reason);
    if (segment.status().code() == StatusCode::kNotFound) return true;
    // It may be readable next time, and counted then, unless it is too large ever to be.
    if (size_bytes <= base::Env::kMaxReadBytes) return false;
    return visitor_->OnRemoval(name, {.records = {}, .skipped_bytes = size_bytes}, removal.reason);
  }

  base::Env* env_;
  const std::string& directory_;
  const SweepLimits& limits_;
  int64_t now_wall_ms_;
  SweepVisitor* visitor_;
  SpoolReader reader_;
  std::vector<std::string> names_;
  std::vector<policies::StoredFile> files_;  // by index in names_
  std::map<size_t, SegmentFacts> facts_;     // likewise; of the segments that were read for their priority
  SweepResult result_;
};

}  // namespace

Result<SweepResult> SweepSpool(base::Env* env, const std::string& directory, const SweepLimits& limits,
                               int64_t now_wall_ms, SweepVisitor* visitor) {
  std::vector<std::string> names;
  const int error = env->List(directory, &names);
  if (error == ENOENT) return Status(StatusCode::kNotFound, "there is no spool directory " + directory);
  if (error != 0) return base::IoError("cannot list the spool directory " + directory, error);
  return Sweep(env, directory, limits, now_wall_ms, visitor).Run(names);
}

}  // namespace lagwatch::report
