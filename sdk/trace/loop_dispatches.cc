// SPDX-License-Identifier: Apache-2.0
#include "sdk/trace/loop_dispatches.h"

#include <algorithm>
#include <cstring>

#include "base/process/safe_memory.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::sdk {

using trace::DispatchNote;
using watchdog::DispatchHistory;
using watchdog::LoopProbe;
using watchdog::WatchedLoop;

LoopDispatches::LoopDispatches(watchdog::LoopRegistry* registry)
    : registry_(registry), taken_(base::MapBlock<Taken>(watchdog::LoopRegistry::kMaxLoops)) {
  const watchdog::LoopRegistry::Places places = registry->places();
  for (size_t i = 0; i < places.size() && taken_ != nullptr; ++i) {
    const DispatchHistory* track = places[i].probe.track();
    if (track != nullptr) taken_[i].ended = track->count();
  }
}

uint32_t LoopDispatches::DispatchOf(int32_t tid) const {
  const watchdog::LoopRegistry::Places places = registry_->places();
  for (WatchedLoop& loop : places) {
    // Relaxed: a loop that comes or goes just now may be missed.
    if (loop.tid.load(std::memory_order_relaxed) != tid || !loop.is_in_use()) continue;
    const auto number = static_cast<uint32_t>(loop.probe.number_under_way());
    if (number == 0) continue;
    loop.probe.RequestTrack();
    return number;
  }
  return 0;
}

bool LoopDispatches::TakeNote(DispatchNote* note) {
  if (taken_ == nullptr) return false;
  const watchdog::LoopRegistry::Places places = registry_->places();
  for (; place_ < places.size(); ++place_) {
    WatchedLoop& loop = places[place_];
    Taken& taken = taken_[place_];
    if (TakeEnded(loop, &taken, note)) return true;
    if (TakeUnderway(&loop, &taken, note)) {
      ++place_;  // a fast loop would have another one each time
      return true;
    }
  }
  place_ = 0;
  return false;
}

bool LoopDispatches::TakeEnded(const WatchedLoop& loop, Taken* taken, DispatchNote* note) {
  const DispatchHistory* track = loop.probe.track();
  if (track == nullptr) return false;
  while (taken->ended < track->count()) {
    const uint64_t overwritten =
        track->count() - std::min<uint64_t>(track->count(), DispatchHistory::kMaxDispatches);
    if (taken->ended < overwritten) {
      forgotten_count_ += overwritten - taken->ended;
      taken->ended = overwritten;
    }
    DispatchHistory::Dispatch dispatch;
    if (!track->ReadNumber(++taken->ended, &dispatch)) {
      ++forgotten_count_;
      continue;
    }
    note->tid = dispatch.tid;
    note->number = dispatch.number;
    note->has_ended = true;
    note->begin_ticks = dispatch.begin_ticks;
    note->end_ticks = dispatch.begin_ticks + dispatch.duration_ticks;
    static_assert(sizeof note->tag == sizeof dispatch.tag);
    std::memcpy(note->tag, dispatch.tag, sizeof note->tag);
    return true;
  }
  return false;
}

bool LoopDispatches::TakeUnderway(WatchedLoop* loop, Taken* taken, DispatchNote* note) {
  if (!loop->is_in_use()) return false;
  const LoopProbe::Dispatch dispatch = loop->probe.Read();
  const bool is_new = dispatch.number != 0 && dispatch.begin_ticks != LoopProbe::kUntimed &&
                      dispatch.number != taken->underway;
  if (!is_new) return false;
  note->tag[0] = '\0';
  if (dispatch.tag != nullptr && !watchdog::WriteFunctionTag(dispatch.tag, note->tag))
    base::ReadOwnString(reinterpret_cast<uint64_t>(dispatch.tag), note->tag, sizeof note->tag);
  if (!loop->probe.IsStillIn(dispatch.number)) return false;  // then its tag may be anything
  loop->probe.RequestTrack();
  taken->underway = dispatch.number;
  note->tid = loop->tid.load(std::memory_order_relaxed);  // a loop that comes or goes just now may be missed
  note->number = static_cast<uint32_t>(dispatch.number);
  note->has_ended = false;
  note->begin_ticks = dispatch.begin_ticks;
  note->end_ticks = dispatch.begin_ticks;
  return note->tid != 0;
}

}  // namespace lagwatch::sdk
