// SPDX-License-Identifier: Apache-2.0
#include "watchdog/past_dispatches.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::watchdog {

std::span<const PastDispatch> ReadPastDispatches(const DispatchHistory* history,
                                                 const base::TickScale& tick_scale, PastDispatch* room) {
  static_assert(sizeof PastDispatch::tag == sizeof DispatchHistory::Dispatch::tag);
  if (history == nullptr) return {};
  uint64_t now_ticks = base::ReadTicks();
  size_t count = 0;
  for (size_t i = 0; i < DispatchHistory::kMaxDispatches; ++i) {
    DispatchHistory::Dispatch dispatch;
    if (!history->Read(i, &dispatch)) continue;
    uint64_t end_ticks = dispatch.begin_ticks + dispatch.duration_ticks;
    PastDispatch& told = room[count++];
    std::memcpy(told.tag, dispatch.tag, sizeof told.tag);
    told.age_ns = tick_scale.ToNs(now_ticks - std::min(end_ticks, now_ticks));
    told.wall_ns = tick_scale.ToNs(dispatch.duration_ticks);
    told.cpu_ns = std::min(dispatch.cpu_ns, told.wall_ns);
  }
  return {room, count};
}

}  // namespace lagwatch::watchdog
