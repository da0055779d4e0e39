// SPDX-License-Identifier: Apache-2.0
// Threads that could end a wait that records no owner, by evidence that is no proof. docs/design/locks.md
// shows what each kind of evidence is worth. Context: watchdog (plain data).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

struct Candidate {
  int32_t tid = 0;
  uint32_t count = 0;    // of threads with that evidence, of which `tid` is one
  char reason[80] = {};  // after "it"
  char name[ThreadSnapshot::kMaxNameBytes] = {};
};

// The best first.
struct Candidates {
  static constexpr size_t kMost = 2;

  std::array<Candidate, kMost> best;
  size_t count = 0;
  // Of a pool whose threads all wait for the waiting thread, for each other, or as it does; 0: none is known.
  uint32_t exhausted_pool_threads = 0;

  std::span<const Candidate> view() const { return {best.data(), count}; }
};

}  // namespace lagwatch::watchdog
