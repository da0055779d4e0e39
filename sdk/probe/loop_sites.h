// SPDX-License-Identifier: Apache-2.0
// The probes at dispatches and at hangs of the process's watched loops.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sdk/probe/site_handlers.h"
#include "watchdog/loops/loop_observer.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// The loops that the process is watched by. Context: background.
struct LoopSource {
  bool (*are_watched)() = nullptr;
  watchdog::LoopRegistry* registry = nullptr;
};

// Thread safety: Add and Remove from one thread at a time; hits come from any.
class LoopSites final : public watchdog::LoopObserver {
 public:
  static constexpr size_t kMaxSites = 32;

  // Never destroyed: a thread may be in a hit.
  static LoopSites& Instance();

  // The loops are there from now on; `source` is borrowed for ever. Any thread.
  void UseLoops(const LoopSource* source) { source_.store(source, std::memory_order_release); }  // publishes
  bool AreLoopsWatched() const;

  // Hits of dispatches or of hangs, by the kind of the site's place, are delivered from now on. `site` stays
  // for the process's life. False if there is no room.
  bool Add(const SiteState* site);
  void Remove(const SiteState* site);

  void OnDispatchEnd(const watchdog::LoopProbe& loop, uint64_t end_ticks, uint64_t duration_ticks,
                     const char* tag) override;
  void OnHang(const watchdog::HangNotice& hang) override;

 private:
  using Sites = std::array<std::atomic<const SiteState*>, kMaxSites>;

  void ObserveIfNeeded();

  std::atomic<const LoopSource*> source_{nullptr};
  Sites dispatches_{};
  Sites hangs_{};
};

}  // namespace lagwatch::sdk
