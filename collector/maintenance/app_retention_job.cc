// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/app_retention_job.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace lagwatch::collector {
namespace {

// A step delays uploads.
constexpr int64_t kRecordsOfAStep = 200;

// The end of a file's name, which a program's name alone may not be.
std::string FileNameOf(std::string_view app) {
  std::string name;
  for (const char c : app) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    if (is_plain) {
      name += c;
    } else {
      name += '%';
      name += base::kHexDigits[byte >> 4];
      name += base::kHexDigits[byte & 15];
    }
  }
  return name;
}

}  // namespace

AppRetentionJob::AppRetentionJob(StoreMaintenance* store, Retention retention,
                                 std::function<int64_t()> wall_ms, const RetentionOptions& options)
    : store_(store), has_end_(retention.LongestDays() > 0) {
  Removal others{.by = Removal::By::kOtherApps};
  for (const auto& [app, days] : retention.days_of_apps) others.excluded_apps.push_back(app);
  const auto add = [&](Removal removal, int64_t days, const RetentionOptions& own) {
    parts_.push_back(std::unique_ptr<AppsPart>(
        new AppsPart{.removal = std::move(removal), .guard = RetentionGuard(store, days, wall_ms, own)}));
  };
  if (retention.days > 0) add(std::move(others), retention.days, options);
  for (const auto& [app, days] : retention.days_of_apps) {
    RetentionOptions own = options;
    own.begins_at_oldest = true;
    if (!own.state_path.empty()) own.state_path += "-app-" + FileNameOf(app);
    add({.by = Removal::By::kApp, .subject = app}, days, own);
  }
}

base::Result<bool> AppRetentionJob::Step() {
  while (current_ < parts_.size()) {
    const auto has_more = StepOf(parts_[current_].get());
    if (has_more.ok() && *has_more) return true;
    ++current_;
    if (!has_more.ok()) return has_more;
  }
  current_ = 0;
  return RemoveRest();
}

base::Result<bool> AppRetentionJob::StepOf(AppsPart* part) {
  if (!part->is_under_way) {
    const auto cutoff = LAGWATCH_TRY(part->guard.Cutoff());
    if (part->done_day != cutoff) {
      part->removal.before_day = cutoff;
      part->progress = {};
      part->is_under_way = true;
    }
  }
  if (part->is_under_way) {
    const auto has_more = store_->Remove(part->removal, kRecordsOfAStep, &part->progress);
    if (!has_more.ok() || *has_more) return has_more;
    part->is_under_way = false;
    if (base::Status noted = part->guard.NoteReached(*part->removal.before_day); !noted.ok()) return noted;
    part->done_day = part->removal.before_day;
  }
  base::Status notice = part->notice.Check(part->guard.state(), base::SystemClock().MonoNs());
  return notice.ok() ? base::Result<bool>(false) : notice;
}

base::Result<bool> AppRetentionJob::RemoveRest() {
  if (!has_end_) return false;
  int64_t day = INT64_MAX;
  for (const auto& part : parts_) {
    if (!part->done_day) return false;
    day = std::min(day, *part->done_day);
  }
  if (rest_day_ == day) return false;
  if (LAGWATCH_TRY(store_->RemoveBefore(day, kRecordsOfAStep)) >= kRecordsOfAStep) return true;
  rest_day_ = day;
  return false;
}

RetentionState AppRetentionJob::state() const {
  for (const auto& part : parts_) {
    if (const RetentionState state = part->guard.state(); state.is_held) return state;
  }
  return parts_.empty() ? RetentionState{} : parts_.front()->guard.state();
}

}  // namespace lagwatch::collector
