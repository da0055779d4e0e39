// SPDX-License-Identifier: Apache-2.0
// Passes the dispatches of watched loops to the recorder of traces.
#pragma once

#include <cstdint>

#include "base/process/mapped_memory.h"
#include "trace/record/dispatch_source.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

class LoopDispatches final : public trace::DispatchSource {
 public:
  // Borrowed. Earlier dispatches are not included.
  explicit LoopDispatches(watchdog::LoopRegistry* registry);

  // Of several loops of a thread, the first one that is in a dispatch counts.
  uint32_t DispatchOf(int32_t tid) const override;
  bool TakeNote(trace::DispatchNote* note) override;
  uint64_t forgotten_count() const override { return forgotten_count_; }

 private:
  // The dispatches of a loop that were taken over.
  struct Taken {
    uint64_t ended;     // of its track
    uint64_t underway;  // number of the last one that was taken while it went on
  };
  bool TakeEnded(const watchdog::WatchedLoop& loop, Taken* taken, trace::DispatchNote* note);
  static bool TakeUnderway(watchdog::WatchedLoop* loop, Taken* taken, trace::DispatchNote* note);

  watchdog::LoopRegistry* registry_;
  base::MappedBlock<Taken> taken_;  // by place; null: nothing is returned
  size_t place_ = 0;                // the place to search next for a note
  uint64_t forgotten_count_ = 0;
};

}  // namespace lagwatch::sdk
