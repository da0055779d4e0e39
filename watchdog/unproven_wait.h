// SPDX-License-Identifier: Apache-2.0
// Keeps account of a dispatch that may be a hang or idleness, until one of the two is proven.
#pragma once

#include <cstdint>
#include <utility>

#include "base/uuid.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe. One loop's.
class UnprovenWait {
 public:
  // Dispatch `number` of that loop has lasted for `elapsed_ns`. A process that is killed now `may_hang`.
  void Note(uint64_t number, const char* loop_name, int64_t elapsed_ns, bool may_hang,
            const WatchTools& tools) {
    if (number_ != number) tools.counters->unproven_waits.Add();
    number_ = number;
    if (!may_hang || id_ != base::Uuid{}) return;
    id_ = base::CreateUuidV7(tools.clock->WallMs());
    tools.sink->OnUnproven(id_, loop_name, elapsed_ns);
  }
  bool is_under_way() const { return number_ != 0; }
  bool IsOf(uint64_t number) const { return number != 0 && number_ == number; }
  // It is known now which of the two it is, if there is such a dispatch.
  void Prove(const WatchTools& tools) {
    if (number_ != 0) tools.counters->unproven_waits_settled.Add();
    Leave(tools);
  }
  // It is over, undecided.
  void Leave(const WatchTools& tools) {
    if (id_ != base::Uuid{}) tools.sink->OnUnprovenEnd(std::exchange(id_, {}));
    number_ = 0;
  }

 private:
  uint64_t number_ = 0;  // 0: none
  base::Uuid id_{};      // under which the sink knows it; zero: it does not
};

}  // namespace lagwatch::watchdog
