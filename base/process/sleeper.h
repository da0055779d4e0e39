// SPDX-License-Identifier: Apache-2.0
// A sleep that another thread can end at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::base {

// Thread safety: one thread sleeps, any thread wakes. A wake before the sleep is kept, so none is lost.
// Context: watchdog (no lock, no allocation).
class Sleeper {
 public:
  Sleeper() = default;
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Returns at `mono_ns` (CLOCK_MONOTONIC) or as soon as Wake() is called, whichever is first. False if it
  // was not woken.
  bool SleepUntil(int64_t mono_ns);
  // As a `mono_ns`: until it is woken.
  static constexpr int64_t kForever = INT64_MAX;
  void Wake();

  // Lets another process end the sleep, too: by changing `*word`, which is in a shared mapping, and
  // by FUTEX_WAKE on it. Borrowed; null: none. The mapping may lose its file at any time. On kernels
  // before 5.16 and systems that cannot wait for two words, the sleeper notices within 5 s. To be called
  // while no thread sleeps.
  void SetSharedWord(const uint32_t* word);

 private:
  static constexpr int64_t kSharedPollNs = 5'000'000'000;

  bool HasSharedWordChanged();
  // Returns at that time, when woken, or sooner.
  void Wait(int64_t mono_ns);

  std::atomic<uint32_t> woken_{0};
  const uint32_t* shared_word_ = nullptr;
  uint32_t seen_value_ = 0;  // of the shared word
  bool can_wait_for_two_ = true;
  std::atomic<uint32_t> semaphore_{0};  // 0: none yet, or the system needs none
};

}  // namespace lagwatch::base
