// SPDX-License-Identifier: Apache-2.0
// The recorder's fast path, inline for the hooks. docs/design/trace_instrument.md has its costs and its
// reasons. Calls no inline function of the standard library: if the linker merged ours with an instrumented
// copy from the program, the hook would call itself.
#pragma once

#include <cstdint>

#include "base/ticks.h"
#include "trace/block_pool.h"
#include "trace/instrument/call_event.h"

#define LAGWATCH_UNTRACED __attribute__((no_instrument_function, patchable_function_entry(0)))
#define LAGWATCH_HIDDEN __attribute__((visibility("hidden")))

namespace lagwatch::trace {

// One thread's writer. Thread safety: for the thread and its signal handlers. Invariants:
// - `session` is kBusy from before an event's first store to after its last. Code that finds it so has
//   interrupted that event and stores nothing, so that the bytes below `used_bytes` never change.
// - Otherwise `session` is the one that the rest belongs to, or kNone.
struct CallWriter {
  static constexpr uint32_t kBusy = UINT32_MAX;
  static constexpr uint32_t kNone = 1;  // 0 is the state while nothing is recorded
  // No address that there is lies less than 2^29 above it.
  static constexpr uint64_t kNoBase = uint64_t{1} << 63;

  uint32_t session = kNone;
  int32_t tid = 0;
  Block* block = nullptr;
  uint64_t base_ticks = 0;  // the block's, and the wraps since
  uint64_t near_base = 0;   // the block's code_base
  uint64_t far_base = kNoBase;
  uint32_t last_session = 0;
  uint32_t refused_events = 0;  // since a claim was refused
  uint32_t busy_events = 0;     // found it busy since the last that did not
  uint32_t end_rounds = 0;      // of the thread's end
};

// The word that all threads load at each event. 0: off. Otherwise
//   bits 32-63  twice a number from 1 on that no other recording has, plus 1 if its clock is coarse
//   bits 0-31   the coarse clock
LAGWATCH_HIDDEN extern uint64_t g_call_state;
// Initial-exec: no call, and no allocation at a thread's first use.
LAGWATCH_HIDDEN extern constinit thread_local CallWriter t_call_writer
    __attribute__((tls_model("initial-exec")));

// The slow path. `ticks` is the time if it was read already; else 0.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void RecordSlowly(uint64_t address, uint64_t flags, uint64_t state,
                                                    uint64_t ticks);

// Orders the accesses around it for this thread's signal handlers.
LAGWATCH_UNTRACED inline __attribute__((always_inline)) void FenceHandlers() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

LAGWATCH_UNTRACED inline __attribute__((always_inline)) void StoreCallWord(Block* block, uint32_t used_bytes,
                                                                           uint64_t word) {
  // Relaxed: published by the count. One store, so that a reader never sees a half.
  __atomic_store_n(reinterpret_cast<uint64_t*>(block->bytes + used_bytes), word, __ATOMIC_RELAXED);
  __atomic_store_n(reinterpret_cast<uint32_t*>(&block->used_bytes),
                   used_bytes + static_cast<uint32_t>(sizeof word), __ATOMIC_RELEASE);  // pairs with Copy
}

using RecordSlowlyFunction = void (*)(uint64_t address, uint64_t flags, uint64_t state, uint64_t ticks);

// Other slow paths are RecordSlowly() for callers whose registers it would change.
template <RecordSlowlyFunction kRecordSlowly = &RecordSlowly>
LAGWATCH_UNTRACED inline __attribute__((always_inline)) void RecordCall(uint64_t address, uint64_t flags) {
  const uint64_t state =
      __atomic_load_n(&g_call_state, __ATOMIC_RELAXED);  // late by an event is early enough
  const uint32_t session = static_cast<uint32_t>(state >> 32);
  CallWriter& writer = t_call_writer;
  if (writer.session != session) [[unlikely]] {
    if (session != 0) kRecordSlowly(address, flags, state, 0);
    return;
  }
  const uint64_t ticks = (session & 1) == 0 ? base::ReadTicks() : 0;
  writer.session = CallWriter::kBusy;
  FenceHandlers();
  // A signal handler that finds the writer busy stores nothing, so none begins another block from here on.
  const uint64_t low = (session & 1) == 0 ? ticks - writer.base_ticks : state & UINT32_MAX;
  Block* block = writer.block;
  const uint32_t used_bytes = __atomic_load_n(reinterpret_cast<uint32_t*>(&block->used_bytes),
                                              __ATOMIC_RELAXED);  // only we change it
  uint64_t offset = address - writer.near_base;
  uint64_t far = 0;
  if (offset >= CallEventWord::kAddressMask) {
    offset = address - writer.far_base;
    far = CallEventWord::kIsFar;
  }
  const bool fits = offset < CallEventWord::kAddressMask && low >> 32 == 0 && used_bytes < Block::kRoomBytes;
  if (fits) [[likely]]
    StoreCallWord(block, used_bytes, low | offset << CallEventWord::kAddressShift | far | flags);
  FenceHandlers();
  writer.session = session;
  if (!fits) [[unlikely]]
    kRecordSlowly(address, flags, state, ticks);
}

}  // namespace lagwatch::trace
