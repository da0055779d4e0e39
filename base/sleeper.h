// SPDX-License-Identifier: Apache-2.0
// A sleep that another thread can end at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::base {

// Thread safety: one thread sleeps, any thread wakes. A wake before the sleep is kept, so none is lost.
// Context: watchdog (a futex; no lock, no allocation).
class Sleeper {
 public:
  // Returns at `mono_ns` (CLOCK_MONOTONIC) or as soon as Wake() is called, whichever is first.
  void SleepUntil(int64_t mono_ns);
  // As a `mono_ns`: until it is woken.
  static constexpr int64_t kForever = INT64_MAX;
  void Wake();

 private:
  std::atomic<uint32_t> woken_{0};
};

}  // namespace lagwatch::base
