// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/retention_guard.h"

#include <algorithm>
#include <utility>

#include "base/process/env.h"
#include "base/text.h"
#include "collector/files/small_files.h"

namespace lagwatch::collector {
namespace {

// After a pause of the collector it catches up with a day's worth in that time.
constexpr int64_t kPauseNs = 3600 * base::kNsPerSecond;

std::optional<int64_t> ReadNumber(const std::string& path) {
  std::string text;
  if (path.empty() || base::SystemEnv().ReadAll(path, &text) != 0) return std::nullopt;
  return base::ParseNumber<int64_t>(base::Trimmed(text));
}

}  // namespace

RetentionGuard::RetentionGuard(StoreMaintenance* store, int64_t days, std::function<int64_t()> wall_ms,
                               RetentionOptions options)
    : store_(store), days_(days), wall_ms_(std::move(wall_ms)), options_(std::move(options)) {}

base::Result<int64_t> RetentionGuard::Cutoff() {
  const int64_t today = wall_ms_() / kMsPerDay;
  const int64_t wanted = today - days_;
  const auto reached = LAGWATCH_TRY(ReachedDay(wanted));
  int64_t cutoff = wanted;
  bool is_held = false;
  if (wanted > reached + 1 && !IsConfirmed(today)) {
    const auto newest = LAGWATCH_TRY(store_->NewestDay());
    // Programs' clocks are independent of this one: their newest records show whether this one is right.
    is_held = newest && *newest + 1 < today;
    const bool is_pausing = advanced_mono_ns_ && options_.mono_ns() - *advanced_mono_ns_ < kPauseNs;
    if (newest) cutoff = is_held || is_pausing ? reached : reached + 1;
  }
  std::lock_guard lock(mutex_);
  state_ = {.is_held = is_held, .reached_day = reached, .wanted_day = wanted};
  return cutoff;
}

base::Status RetentionGuard::NoteReached(int64_t day) {
  if (reached_day_ == day) return {};
  if (!options_.state_path.empty()) {
    base::Status written = ReplaceFile(options_.state_path, std::to_string(day) + "\n");
    if (!written.ok()) return written;
  }
  if (reached_day_.value_or(day) < day) advanced_mono_ns_ = options_.mono_ns();
  reached_day_ = day;
  std::lock_guard lock(mutex_);
  state_.reached_day = day;
  return {};
}

RetentionState RetentionGuard::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

base::Result<int64_t> RetentionGuard::ReachedDay(int64_t wanted_day) {
  if (!reached_day_) reached_day_ = ReadNumber(options_.state_path);
  if (reached_day_) return *reached_day_;
  const auto newest = LAGWATCH_TRY(store_->NewestDay());
  int64_t reached = newest ? std::min(wanted_day, *newest - days_) : wanted_day;
  if (options_.begins_at_oldest) {
    const auto oldest = LAGWATCH_TRY(store_->OldestDay());
    if (oldest) reached = std::min(reached, *oldest);
  }
  if (base::Status noted = NoteReached(reached); !noted.ok()) return noted;
  return reached;
}

bool RetentionGuard::IsConfirmed(int64_t today) const {
  const auto confirmed_ms = ReadNumber(options_.confirmed_path);
  if (!confirmed_ms) return false;
  const int64_t confirmed_day = *confirmed_ms / kMsPerDay;
  return confirmed_day <= today && today <= confirmed_day + 1;
}

base::Status ConfirmClock(const std::string& confirmed_path, int64_t wall_ms) {
  return ReplaceFile(confirmed_path, std::to_string(wall_ms) + "\n");
}

}  // namespace lagwatch::collector
