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

Result<bool> RetentionJob::RemoveSome(int64_t day) {
  if (of_ == Of::kTracesOnly) return store_->RemoveTracesBefore(day, kTracesOfAStep);
  return LAGWATCH_TRY(store_->RemoveBefore(day, kRemovedInAStep)) >= kRemovedInAStep;
}

Result<bool> RetentionJob::Step() {
  if (days_ == 0) return false;
  const auto cutoff = LAGWATCH_TRY(guard_.Cutoff());
  if (LAGWATCH_TRY(RemoveSome(cutoff))) return true;
  if (Status noted = guard_.NoteReached(cutoff); !noted.ok()) return noted;
  Status notice = notice_.Check(guard_.state(), base::SystemClock().MonoNs());
  return notice.ok() ? Result<bool>(false) : notice;
}

StepJob CreateUnusedNamesJob(StoreMaintenance* store) {
  return {"removal of unused names", [store] { return store->RemoveUnused(kNamesOfAStep); }};
}

StepJob CreateRepairJob(StoreMaintenance* store) {
  return {"repair of sums",
          [store]() -> Result<bool> { return LAGWATCH_TRY(store->RepairSums(kClustersOfAStep)) > 0; }};
}

StepJob CreateCompactJob(StoreMaintenance* store) {
  return {"vacuum", [store] { return store->Compact(); }};
}

}  // namespace lagwatch::collector
