// SPDX-License-Identifier: Apache-2.0
// The state of an armed program: aggregates, stacks, records that wait, the budget. It lives in one block of
// memory of a fixed size, which the caller gives and which alone the interpreter writes.
//
// Thread safety: hits write from any thread; of the other functions each may be called from one background
// thread at a time. Invariants: a cell's key never changes once its hash is published; a record is read once,
// whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probe/block.h"
#include "probe/program.h"
#include "probe/verify/verified.h"

namespace lagwatch::probe {

// Converts the tick counter to CLOCK_MONOTONIC.
struct ProbeClock {
  double ns_per_tick = 1;
  uint64_t base_ticks = 0;  // the same moment
  int64_t base_mono_ns = 0;
};

struct ProbeStats {
  uint64_t hits = 0;     // approximate with more than 256 threads
  uint64_t skipped = 0;  // left out because of the budget
  uint64_t lost = 0;     // of these, those that no other hit counts for: what is shown is at least so much
  uint64_t faulted = 0;
  uint64_t dropped_records = 0;  // no room, or over the output limit
  uint64_t dropped_keys = 0;     // no cell left, or a sum out of its range
  uint64_t dropped_stacks = 0;
  bool is_off = false;  // turned off by its budget
};

class ProbeState {
 public:
  // The bytes that a program needs; a multiple of the page size is not required.
  static size_t Bytes(const VerifiedProgram& program);

  // `memory` has Bytes(program), is aligned to 64 and zeroed. It and `program` live longer than this object,
  // which the mechanism keeps until no thread can be in RunProbe(). `mechanism_ns` is what the mechanism
  // takes for one hit by itself, which the budget includes. Context: background.
  ProbeState(const VerifiedProgram& program, void* memory, const ProbeClock& clock, uint32_t mechanism_ns);
  ProbeState(const ProbeState&) = delete;
  ProbeState& operator=(const ProbeState&) = delete;

  // Probes with a higher level are passed over from now on. Context: background.
  void SetLevel(uint32_t level);
  // The requests that probes have made since the last call, as indexes of Program::requests. Context:
  // background.
  std::vector<uint32_t> TakeRequests();
  // Appends the records that wait to `bytes`, at most `most`, in the form that probe/show/ reads. Context:
  // background.
  size_t TakeRecords(size_t most, std::string* bytes);
  // Aggregates and stacks as they are now, in the form that probe/show/ reads; each cell may be one hit
  // behind. Context: background.
  std::string Snapshot() const;
  ProbeStats Stats() const;

  // For the interpreter. Context: signal, hot.
  const BlockView& block() const { return block_; }

 private:
  const VerifiedProgram& program_;
  BlockView block_;
};

}  // namespace lagwatch::probe
