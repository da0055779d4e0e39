// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/damage_job.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "collector/store/sqlite/damage/set_aside.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kCheckPauseNs = 24 * 3600 * base::kNsPerSecond;
// Pauses are so many times as long as what they follow.
constexpr int64_t kPartWhenIdle = 3;
constexpr int64_t kPartWhenBusy = 20;
constexpr int64_t kMostCheckPauseNs = 2 * base::kNsPerSecond;

}  // namespace

base::Result<bool> DamageJob::Step() {
  if (base::Status damage = store_->Damage(); !damage.ok()) {
    if (base::Status aside = SetAside(damage); !aside.ok()) return aside;
  }
  const int64_t begin_ns = base::SystemClock().MonoNs();
  if (begin_ns < next_mono_ns_) return false;
  const auto has_more = store_->CheckPart(&progress_);
  if (!store_->Damage().ok()) return true;
  if (!has_more.ok()) return has_more;
  if (!*has_more) {
    progress_ = {};
    next_mono_ns_ = base::SystemClock().MonoNs() + kCheckPauseNs;
    return false;
  }
  const uint64_t commits = options_.commits ? options_.commits() : 0;
  const bool is_busy = std::exchange(commits_, commits) != commits;
  const int64_t taken_ns = base::SystemClock().MonoNs() - begin_ns;
  std::this_thread::sleep_for(std::chrono::nanoseconds(
      std::min(taken_ns * (is_busy ? kPartWhenBusy : kPartWhenIdle), kMostCheckPauseNs)));
  return true;
}

base::Status DamageJob::SetAside(const base::Status& damage) {
  if (folder_.empty()) folder_ = NewAsideFolder(options_.data);
  if (base::Status aside = store_->SetAside(folder_); !aside.ok()) return aside;
  const std::string folder = std::exchange(folder_, {});
  progress_ = {};
  next_mono_ns_ = base::SystemClock().MonoNs() + kCheckPauseNs;
  if (options_.on_set_aside) options_.on_set_aside(folder, damage);
  return {};
}

}  // namespace lagwatch::collector
