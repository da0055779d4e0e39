// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>

#include "base/system/system_calls.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/evidence/idle_places.h"

namespace lagwatch::watchdog {
namespace {

bool IsForDescriptor(const stack::BlockedThread& blocked, int32_t descriptor) {
  return static_cast<int32_t>(blocked.arguments[0]) == descriptor;
}

}  // namespace

WaitKind KindOfWait(const stack::BlockedThread& blocked) {
  if (WaitsForEvent(blocked)) return WaitKind::kEvent;
  const int command = blocked.FutexCommand();
  const bool is_of_mutex = command >= 0 && command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET;
  return blocked.HasTimeLimit() && !is_of_mutex ? WaitKind::kTime : WaitKind::kOther;
}

bool IsForOrders(const stack::BlockedThread& blocked) { return blocked.call().is_for_orders; }

bool IsForAnother(const WatchedLoop& loop, const stack::BlockedThread& blocked) {
  const base::SystemCall& call = blocked.call();
  const int32_t polled = loop.polled_descriptor.load();
  if (call.IsForDescriptor()) return polled >= 0 && !IsForDescriptor(blocked, polled);
  return call.awaits == base::CallAwaits::kChild && call.may_idle;
}

bool IsForPolled(const WatchedLoop& loop, const stack::BlockedThread& blocked) {
  const base::DescriptorUse use = blocked.call().use;
  return (use == base::DescriptorUse::kReads || use == base::DescriptorUse::kAccepts) &&
         IsForDescriptor(blocked, loop.polled_descriptor.load());
}

}  // namespace lagwatch::watchdog
