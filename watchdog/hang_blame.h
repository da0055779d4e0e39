// SPDX-License-Identifier: Apache-2.0
// The time that the thread of one hang has spent in each call, from all samples until its end: the few of the
// first report may blame the smaller of two shares. docs/design/watchdog.md. Context: watchdog; not
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "policies/sample_time.h"
#include "stack/frames/stack.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

// Lives in memory that no constructor touches: Begin() comes first.
class HangBlame {
 public:
  static constexpr uint32_t kMostCalls = 1024;
  static constexpr uint32_t kNone = UINT32_MAX;

  // Forgets what it has. The next hang has begun at `begin_ns`.
  void Begin(int64_t begin_ns);
  void Add(const LoopSample& sample);

  // The innermost call on the way from the outermost function inwards, each time to the callee that most of
  // the caller's time was spent in, as policies::PickExpensivePath() goes. kNone where the stacks have no
  // outermost function in common for half of the time.
  uint32_t Heaviest() const;
  // The newest sample that was right when it was added: the ring may have lost those of the call that is the
  // heaviest in the end. Null if there is none.
  const LoopSample* witness() const { return has_witness_ ? &witness_ : nullptr; }
  // The innermost call of the stack that a sample had; kNone if none had one like it.
  uint32_t Find(const stack::Stack& stack) const;
  // Whether `call` may be blamed instead of `heaviest`: where their ways part, they have nearly the same
  // time. The call that the first samples found has probably begun before them: it gets as much of that time
  // as it went on for.
  bool Agree(uint32_t call, uint32_t heaviest) const;

 private:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kPlaces = 2 * kMostCalls;  // of the hash table

  struct Call {
    uint64_t path;  // hash of the functions from the outermost one to this one
    uint32_t caller;
    uint32_t depth;
    int64_t within_ns;  // in it, and in what it has called
    int64_t own_ns;     // in itself
  };

  struct FirstSample {
    uint32_t call;  // the innermost one
    int64_t mono_ns;
  };

  bool IsWithin(uint32_t call, uint32_t outer) const;
  // The part of the time before the first sample that is likely to be `call`'s.
  int64_t EarlierNs(uint32_t call) const;
  // Adds time that was spent in the call itself.
  void AddTime(uint32_t call, int64_t spent_ns);
  // The innermost call of the stack, or the innermost one for which there is room.
  uint32_t FindOrAdd(const stack::Stack& stack);
  // The place of the path in `places_`, which may be empty.
  uint32_t PlaceOf(uint64_t path) const;

  int64_t begin_ns_;
  std::array<FirstSample, 32> first_samples_;
  uint32_t first_count_;
  policies::SampleTime time_;
  uint32_t last_call_;  // of the last sample with a stack
  LoopSample witness_;
  bool has_witness_;
  uint32_t count_;
  std::array<Call, kMostCalls> calls_;    // the root, which stands for the thread, first
  std::array<uint16_t, kPlaces> places_;  // index into `calls_`; 0: empty
};

}  // namespace lagwatch::watchdog
