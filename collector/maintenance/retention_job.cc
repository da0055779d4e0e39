// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/retention_job.h"

#include <utility>

namespace lagwatch::collector {
namespace {

// A step delays uploads.
constexpr int64_t kRemovedInAStep = 500;
constexpr int64_t kTracesOfAStep = 20;
constexpr int64_t kClustersOfAStep = 10;
constexpr int64_t kNamesOfAStep = 500;

}  // namespace

base::Status HoldNotice::Check(const RetentionState& state, int64_t mono_ns) {
  constexpr int64_t kPauseNs = 3600 * base::kNsPerSecond;
  if (!state.is_held) {
    said_mono_ns_.reset();
    return {};
  }
  if (said_mono_ns_ && mono_ns - *said_mono_ns_ < kPauseNs) return {};
  said_mono_ns_ = mono_ns;
  return {base::StatusCode::kUnavailable,
          "removes nothing: by this machine's clock " + std::to_string(state.wanted_day - state.reached_day) +
              " days' worth is too old, and no program has sent anything of today. If the clock is right, "
              "confirm it: lagwatch-collector retention confirm-clock"};
}

RetentionJob::RetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms,
                           RetentionOptions options)
    : store_(store), days_(days), guard_(store, days, std::move(wall_ms), std::move(options)) {}

base::Result<bool> RetentionJob::Step() {
  if (days_ == 0) return false;
  const auto cutoff = LAGWATCH_TRY(guard_.Cutoff());
  if (LAGWATCH_TRY(store_->RemoveBefore(cutoff, kRemovedInAStep)) >= kRemovedInAStep) return true;
  if (base::Status noted = guard_.NoteReached(cutoff); !noted.ok()) return noted;
  base::Status notice = notice_.Check(guard_.state(), base::SystemClock().MonoNs());
  return notice.ok() ? base::Result<bool>(false) : notice;
}

TraceRetentionJob::TraceRetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms,
                                     RetentionOptions options)
    : store_(store), days_(days), guard_(store, days, std::move(wall_ms), std::move(options)) {}

base::Result<bool> TraceRetentionJob::Step() {
  if (days_ == 0) return false;
  const auto cutoff = LAGWATCH_TRY(guard_.Cutoff());
  const auto has_more = store_->RemoveTracesBefore(cutoff, kTracesOfAStep);
  if (!has_more.ok() || *has_more) return has_more;
  if (base::Status noted = guard_.NoteReached(cutoff); !noted.ok()) return noted;
  base::Status notice = notice_.Check(guard_.state(), base::SystemClock().MonoNs());
  return notice.ok() ? base::Result<bool>(false) : notice;
}

base::Result<bool> UnusedNamesJob::Step() { return store_->RemoveUnused(kNamesOfAStep); }

base::Result<bool> RepairJob::Step() { return LAGWATCH_TRY(store_->RepairSums(kClustersOfAStep)) > 0; }

}  // namespace lagwatch::collector
