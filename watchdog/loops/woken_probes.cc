// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/woken_probes.h"

#include "base/clock.h"
#include "watchdog/loops/loop_probe.h"

namespace lagwatch::watchdog {

void WokenProbes::Add(LoopProbe* probe, int64_t look_within_ns) {
  if (!probe->is_listed_.exchange(true)) {
    LoopProbe* newest = newest_.load(std::memory_order_relaxed);  // the exchange decides
    do {
      probe->next_woken_ = newest;
    } while (!newest_.compare_exchange_weak(newest, probe));
  }
  const bool is_soon =
      look_within_ns != kAtOnce && base::SystemClock().MonoNs() + look_within_ns >= next_look_ns_.load();
  if (!is_soon) watchdog_->Wake();
}

}  // namespace lagwatch::watchdog
