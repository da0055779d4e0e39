// SPDX-License-Identifier: Apache-2.0
#include "collector/http/measures/hang_counts.h"

#include <algorithm>
#include <variant>

#include "collector/cluster/cause_sums.h"

namespace lagwatch::collector {
namespace {

constexpr char kOthers[] = "(others)";

double ToSeconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

HangCounts::Version HangCounts::Known(std::string app, std::string version) {
  Version wanted{std::move(app), std::move(version)};
  if (watched_s_.contains(wanted)) return wanted;
  if (watched_s_.size() >= kMostVersions) wanted = {kOthers, kOthers};
  watched_s_.try_emplace(wanted, 0);
  return wanted;
}

void HangCounts::BeginDay(int64_t now_wall_ms) {
  const int64_t today = now_wall_ms / kMsPerDay;
  if (std::exchange(day_, today) == today) return;
  for (auto& [place, sums] : sums_) sums.users = {};
}

void HangCounts::Add(std::span<const NewRecord> records, std::span<const CommitOutcome> outcomes,
                     int64_t now_wall_ms) {
  std::lock_guard lock(mutex_);
  BeginDay(now_wall_ms);
  for (size_t i = 0; i < records.size() && i < outcomes.size(); ++i) {
    if (outcomes[i] != CommitOutcome::kStored) continue;
    if (const auto* report = std::get_if<NewReport>(&records[i])) Add(*report);
    if (const auto* end = std::get_if<report::HangEnd>(&records[i])) Add(*end);
    if (const auto* usage = std::get_if<NewUsage>(&records[i]))
      watched_s_[Known(usage->usage.app, usage->usage.app_version)] += WatchedNsOf(usage->usage) / 1e9;
  }
}

// A hang's first report counts it, with the length that is known so far.
void HangCounts::Add(const NewReport& report) {
  const ReportRow& row = report.row;
  if (row.id != row.hang_id || !IsHang(row.kind)) return;
  const auto place = std::pair(Known(row.app, row.version), row.verdict);
  Sums& sums = sums_[place];
  ++sums.hangs;
  sums.hung_s += ToSeconds(row.elapsed_ns);
  sums.users.Add(CountedUser(row.user, row.session_id));
  if (!open_.try_emplace(row.id, OpenHang{place, row.elapsed_ns}).second) return;
  opened_.push_back(row.id);
  if (opened_.size() <= kMostOpen) return;
  open_.erase(opened_.front());
  opened_.pop_front();
}

void HangCounts::Add(const report::HangEnd& end) {
  const auto found = open_.find(end.report_id);
  if (found == open_.end()) return;
  OpenHang& open = found->second;
  sums_[open.place].hung_s += ToSeconds(std::max<int64_t>(end.duration_ns - open.counted_ns, 0));
  open.counted_ns = std::max(open.counted_ns, end.duration_ns);
}

void HangCounts::ForEach(
    int64_t now_wall_ms,
    const std::function<void(const Version&, const std::string& verdict, const Sums&)>& visit) {
  std::lock_guard lock(mutex_);
  BeginDay(now_wall_ms);
  for (const auto& [place, sums] : sums_) visit(place.first, place.second, sums);
}

void HangCounts::ForEachWatched(const std::function<void(const Version&, double)>& visit) {
  std::lock_guard lock(mutex_);
  for (const auto& [version, watched_s] : watched_s_) visit(version, watched_s);
}

}  // namespace lagwatch::collector
