// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_scopes.h"

#include <algorithm>
#include <iterator>

namespace lagwatch::watchdog {

LoopScopes::Scope LoopScopes::Read(size_t depth) const {
  const ScopePlace& place = places_[depth];
  Scope scope;
  // Acquire, each: it pairs with Begin's stores and keeps the loads in this order.
  scope.number = place.number.load(std::memory_order_acquire);
  scope.begin_ticks = place.begin_ticks.load(std::memory_order_acquire);
  scope.deadline_ns = place.deadline_ns.load(std::memory_order_acquire);
  scope.name = place.name.load(std::memory_order_acquire);
  // Another by now: it is so young that the next look will do.
  if (place.number.load(std::memory_order_acquire) != scope.number) scope.number = 0;
  return scope;
}

bool LoopScopes::IsStillIn(uint64_t number) const {
  return std::ranges::any_of(places_, [&](const ScopePlace& place) {
    return place.number.load(std::memory_order_acquire) == number;  // pairs with End's store
  });
}

void LoopScopes::Reset() {
  for (ScopePlace& place : places_) place.number.store(0);
  depth_ = 0;
  shortest_deadline_ns_.store(INT64_MAX);
}

}  // namespace lagwatch::watchdog
