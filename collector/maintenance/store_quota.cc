// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/store_quota.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kNoticePauseNs = 3600 * base::kNsPerSecond;
// Each transaction delays uploads: large ones would be noticed. Several in a step, because other jobs' steps
// come between two.
constexpr int64_t kReportsAtOnce = 200;
constexpr int64_t kTracesAtOnce = 10;
constexpr int64_t kClustersAtOnce = 10;
constexpr std::chrono::milliseconds kLeastPause{1};
constexpr std::chrono::milliseconds kMostPause{50};
constexpr int64_t kTimeOfAStepNs = base::kNsPerSecond / 5;

std::string MiBText(uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

}  // namespace

StoreMarks StoreMarks::Of(uint64_t most_bytes) {
  return {.most_bytes = most_bytes,
          .remove_bytes = most_bytes - std::min(most_bytes / 4, 256 * kMiB),
          .refuse_bytes = most_bytes - std::min(most_bytes / 8, 128 * kMiB)};
}

StoreQuota::StoreQuota(SqliteStore* store, uint64_t most_bytes, StoreQuotaOptions options)
    : store_(store), marks_(StoreMarks::Of(most_bytes)), options_(std::move(options)) {}

base::Status StoreQuota::Check() const {
  const StoreSize size = store_->Size();
  const uint64_t taken = size.used_bytes + size.log_bytes;
  if (taken < marks_.refuse_bytes) return {};
  return {base::StatusCode::kUnavailable, "the store is full: its size is " + MiBText(taken) + " (its log " +
                                              MiBText(size.log_bytes) + ") of " + MiBText(marks_.most_bytes) +
                                              " (--store-gib); the oldest days are removed to make room"};
}

base::Result<bool> StoreQuota::Step() {
  const int64_t end_ns = options_.mono_ns() + kTimeOfAStepNs;
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    const auto has_more = StepOnce();
    if (!has_more.ok() || !*has_more || options_.mono_ns() >= end_ns) return has_more;
    // A mutex is not fair: this pause gives uploads as much time with the database.
    const auto taken = std::chrono::steady_clock::now() - begin;
    std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(taken, kLeastPause, kMostPause));
  }
}

base::Result<bool> StoreQuota::StepOnce() {
  if (!day_) return BeginDay();
  return phase_ == Phase::kRepair ? Repair() : RemoveSome();
}

base::Result<bool> StoreQuota::BeginDay() {
  if (!IsOver()) return Check().ok() ? base::Result<bool>(false) : CutLog();
  const auto oldest = LAGWATCH_TRY(store_->OldestDay());
  const auto newest = LAGWATCH_TRY(store_->NewestDay());
  const int64_t today = options_.wall_ms() / kMsPerDay;
  if (!oldest || *oldest >= std::min(today, newest.value_or(today))) return Hold();
  is_held_ = false;
  day_ = *oldest;
  phase_ = Phase::kTraces;
  removed_reports_ = 0;
  return true;
}

// Traces first, a few at once: they are large, and SQLite overwrites deleted rows.
base::Result<bool> StoreQuota::RemoveSome() {
  if (phase_ == Phase::kTraces) {
    const auto has_more = store_->RemoveTracesBefore(*day_ + 1, kTracesAtOnce);
    if (!has_more.ok()) return has_more;
    if (!*has_more) phase_ = Phase::kReports;
    return true;
  }
  const auto removed = LAGWATCH_TRY(store_->RemoveBefore(*day_ + 1, kReportsAtOnce));
  removed_reports_ += removed;
  if (removed >= kReportsAtOnce) return true;
  phase_ = Phase::kRepair;
  if (options_.on_removed) options_.on_removed(*day_, removed_reports_);
  return true;
}

// Sums shrink, too: the next day goes only if that was not enough. There is no time for that once
// reports are refused.
base::Result<bool> StoreQuota::Repair() {
  if (Check().ok()) {
    if (LAGWATCH_TRY(store_->RepairSums(kClustersAtOnce)) > 0) return true;
  }
  day_.reset();
  return true;
}

// The log alone is too large, after a reader that took long: without a write it would stay so.
base::Result<bool> StoreQuota::CutLog() {
  if (Status cut = store_->TruncateLog().status(); !cut.ok()) return cut;
  return false;
}

base::Result<bool> StoreQuota::Hold() {
  is_held_ = true;
  if (Check().ok()) return false;
  if (const auto cut = CutLog(); !cut.ok()) return cut;
  if (Check().ok()) return false;
  const int64_t now_ns = options_.mono_ns();
  if (said_mono_ns_ && now_ns - *said_mono_ns_ < kNoticePauseNs) return false;
  said_mono_ns_ = now_ns;
  return base::Status(base::StatusCode::kUnavailable,
                      Check().message() +
                          ", but only the newest day's records are left: no reports are accepted. Use a "
                          "larger --store-gib or smaller quotas");
}

}  // namespace lagwatch::collector
