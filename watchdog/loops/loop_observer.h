// SPDX-License-Identifier: Apache-2.0
// The interface for what follows a registry's loops beside the watchdog.
#pragma once

#include <cstdint>

namespace lagwatch::watchdog {

class LoopProbe;
struct HangNotice;

// Never destroyed once it observed something: a thread may be in a call. Thread safety: any threads.
class LoopObserver {
 public:
  // A dispatch with a time stamp has ended; `tag` is readable during the call, and may be null or a function
  // (WriteFunctionTag()). On the loop's thread. Context: hot.
  virtual void OnDispatchEnd(const LoopProbe& loop, uint64_t end_ticks, uint64_t duration_ticks,
                             const char* tag) = 0;
  // A hang was found, also one that is over. Context: watchdog.
  virtual void OnHang(const HangNotice& hang) = 0;

 protected:
  ~LoopObserver() = default;
};

}  // namespace lagwatch::watchdog
