// SPDX-License-Identifier: Apache-2.0
// Appends runs and dispatches to a pool of the flight recorder. Context: watchdog; not thread-safe: one for
// each thread that writes.
#pragma once

#include "trace/record/arena.h"
#include "trace/record/run_codec.h"

namespace lagwatch::trace {

class RunWriter {
 public:
  // `counters` is borrowed, as is the pool's memory.
  RunWriter(BlockPool pool, RecordCounters* counters) : pool_(pool), counters_(counters) {}
  ~RunWriter() { Close(); }
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  // Drops the run, and counts it, if no block is available.
  void Write(const RunRecord& run);
  // Gives the block under way back; it stays readable.
  void Close();

 private:
  BlockPool pool_;
  RecordCounters* counters_;
  Block* block_ = nullptr;
  uint32_t used_bytes_ = 0;
  RunCodecState state_{};
};

}  // namespace lagwatch::trace
