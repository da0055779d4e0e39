// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/past_dispatches.h"

#include <algorithm>
#include <cstring>

#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::watchdog {

std::span<const policies::PastDispatchOf<std::string_view>> ReadPastDispatches(
    const DispatchHistory* history, const base::TickScale& tick_scale, const base::Clock& clock,
    const stack::ModuleMap& modules, PastDispatchRoom* room) {
  if (history == nullptr) return {};
  const base::TickPair now = base::ReadTickPair(clock);
  auto age_in_steps = [&](uint64_t ticks) {
    int64_t at_ns = now.mono_ns - tick_scale.ToNs(now.ticks - std::min(ticks, now.ticks));
    return now.mono_ns / kHistoryStepNs - at_ns / kHistoryStepNs;
  };
  size_t count = 0;
  for (size_t i = 0; i < DispatchHistory::kMaxDispatches; ++i) {
    DispatchHistory::Dispatch dispatch;
    if (!history->Read(i, &dispatch)) continue;
    int64_t begin_age = age_in_steps(dispatch.begin_ticks);
    int64_t end_age = age_in_steps(dispatch.begin_ticks + dispatch.duration_ticks);
    char(&tag)[DispatchHistory::kMaxTagBytes] = room->tags[count];
    std::memcpy(tag, dispatch.tag, sizeof tag);
    PlaceFunctionTag(modules, tag);
    policies::PastDispatchOf<std::string_view>& reported = room->dispatches[count++];
    reported.tag = {tag, strnlen(tag, sizeof tag)};
    reported.age_ns = end_age * kHistoryStepNs;
    reported.wall_ns = (begin_age - end_age) * kHistoryStepNs;
    reported.queue_wait_ns = dispatch.queue_wait_ns / kHistoryStepNs * kHistoryStepNs;
    reported.cpu_ns = std::min(dispatch.cpu_ns, reported.wall_ns) / kHistoryStepNs * kHistoryStepNs;
  }
  return {room->dispatches, count};
}

}  // namespace lagwatch::watchdog
