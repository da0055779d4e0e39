// SPDX-License-Identifier: Apache-2.0
// The encoding of a run in a block of the flight recorder: a byte that says which numbers follow, then
// numbers of variable length (as in Protocol Buffers), most of them as differences from the record before it
// in the block. Context: any; allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/block_pool.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// A run of one thread, as it is recorded; or a dispatch, which is a run of nothing: seen 0 times.
struct RunRecord {
  int64_t begin_ns;
  int64_t end_ns;
  int32_t tid;
  uint32_t count;
  uint32_t stack;  // StackTable's id
  uint32_t dispatch;
  uint8_t kind;     // the model's RunKind
  uint8_t call;     // the model's CallKind
  bool is_for_all;  // a waker's: all that waited
  bool is_complete;
  bool is_running;  // a sample's: the thread had a processor
  bool has_totals;  // never of samples
  uint64_t object;
  Totals totals;
  // A dispatch's: at most kMaxTagBytes; decoded ones lie in the block. It goes on where it is not complete.
  std::string_view tag;

  bool is_dispatch() const { return count == 0; }
};

// The values that the next record of a block is relative to. Begins as the block's base, all else zero.
struct RunCodecState {
  int64_t begin_ns;
  uint32_t tid;
  uint32_t stack;
  uint32_t dispatch;
  std::string_view tag;  // of the last dispatch; lies in the block
};

inline constexpr size_t kMaxRunBytes = 160;
inline constexpr size_t kMaxTagBytes = 31;

// Writes `run` to `bytes`, which has room for kMaxRunBytes; returns how many it took.
size_t EncodeRun(const RunRecord& run, RunCodecState* state, char* bytes);

// Reads one from the first `size_bytes`; returns how many it took, 0 when there is no whole one.
size_t DecodeRun(const char* bytes, size_t size_bytes, RunCodecState* state, RunRecord* run);

}  // namespace lagwatch::trace
