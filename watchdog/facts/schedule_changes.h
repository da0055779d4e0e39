// SPDX-License-Identifier: Apache-2.0
// The process's own calls that changed how a thread is scheduled: the last ones, as hooks have noted them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::watchdog {

struct ScheduleChange {
  const char* call;         // the function; static
  uint64_t return_address;  // in the code that called it
  int64_t mono_ns;
  int32_t tid;  // the thread that was rescheduled
  int32_t caller_tid;
};

// Thread safety: Note from any thread, Find from any other. Wait-free; a note that is read while it is
// written is left out.
class ScheduleChanges {
 public:
  // Forgets the oldest. Context: hot.
  void Note(const ScheduleChange& change) {
    Place& place = places_[count_.fetch_add(1) % kPlaces];
    const uint32_t sequence = place.sequence.load(std::memory_order_relaxed);
    place.sequence.store(sequence | 1);
    // Relaxed: between the two stores of the sequence, with a fence before the last.
    place.call.store(change.call, std::memory_order_relaxed);
    place.return_address.store(change.return_address, std::memory_order_relaxed);
    place.mono_ns.store(change.mono_ns, std::memory_order_relaxed);
    place.tid.store(change.tid, std::memory_order_relaxed);
    place.caller_tid.store(change.caller_tid, std::memory_order_relaxed);
    place.sequence.store((sequence | 1) + 1, std::memory_order_release);
  }
  // The last one of thread `tid` after `since_ns`. False: there is none. Context: watchdog.
  bool Find(int32_t tid, int64_t since_ns, ScheduleChange* change) const {
    bool is_found = false;
    for (const Place& place : places_) {
      const uint32_t sequence = place.sequence.load(std::memory_order_acquire);
      ScheduleChange read{place.call.load(), place.return_address.load(), place.mono_ns.load(),
                          place.tid.load(), place.caller_tid.load()};
      const bool is_whole = sequence % 2 == 0 && place.sequence.load() == sequence && read.call != nullptr;
      if (!is_whole || read.tid != tid || read.mono_ns < since_ns) continue;
      if (is_found && read.mono_ns < change->mono_ns) continue;
      *change = read;
      is_found = true;
    }
    return is_found;
  }

 private:
  static constexpr size_t kPlaces = 32;

  struct Place {
    std::atomic<uint32_t> sequence{0};  // odd while it is written
    std::atomic<const char*> call{nullptr};
    std::atomic<uint64_t> return_address{0};
    std::atomic<int64_t> mono_ns{0};
    std::atomic<int32_t> tid{0};
    std::atomic<int32_t> caller_tid{0};
  };

  std::atomic<uint64_t> count_{0};
  std::array<Place, kPlaces> places_{};
};

// The process's. Empty where no hooks note any.
inline ScheduleChanges& ProcessScheduleChanges() {
  static constinit ScheduleChanges changes;
  return changes;
}

}  // namespace lagwatch::watchdog
