// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>

#include "stack/signal/context.h"
#include "stack/signal/replaced_returns.h"
#include "stack/thread_block_layout.h"
#include "trace/hooks/frame_pointer_walk.h"

// The loader's note of where the main thread's stack began.
extern "C" [[gnu::weak]] void* __libc_stack_end;

namespace lagwatch::trace {
namespace {

// The room that the kernel keeps free below the main thread's stack if that has no limit.
constexpr uint64_t kUnlimitedMainStackBytes = 128 << 20;

// Written once, before the first walk.
stack::ThreadBlockLayout g_thread_block;
stack::MemoryRegion g_main_stack;

}  // namespace

__attribute__((no_sanitize("address"), no_sanitize("thread")))  // it reads others' frames
uint64_t
OwnStackEnd(uint64_t sp) {
  if (g_thread_block.is_known()) {
    const uint64_t thread_pointer = stack::ReadThreadPointer();
    stack::ThreadStackNote note = *reinterpret_cast<const stack::ThreadStackNote*>(
        thread_pointer + static_cast<uint64_t>(g_thread_block.stack_note_offset));
    // The thread's control block lies at the end of its stack.
    if (note.Holds(sp) && note.Holds(thread_pointer)) return std::max(sp, thread_pointer);
  }
  return g_main_stack.Holds(sp) ? g_main_stack.end : sp;
}

void FindOwnStacks() {
  g_thread_block = stack::FindThreadBlockLayout();
  if (&__libc_stack_end == nullptr) return;
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const uint64_t end = reinterpret_cast<uint64_t>(__libc_stack_end);
  g_main_stack = {end - std::min<uint64_t>(limit.rlim_cur, kUnlimitedMainStackBytes), end};
}

__attribute__((no_sanitize("address"), no_sanitize("thread")))  // it reads others' frames
size_t
WalkFramePointers(const void*, const CallRegisters& from, uint64_t* pcs, size_t capacity, bool* is_complete) {
  const stack::ReplacedReturns replaced = stack::CurrentReplacedReturns();
  *is_complete = false;
  pcs[0] = replaced.Original(from.program_counter);
  size_t depth = 1;
  const uint64_t end = OwnStackEnd(from.stack_pointer);
  uint64_t fp = from.frame_pointer;
  // A frame record is {the caller's frame pointer, where to return to}, and callers lie further up.
  for (uint64_t lowest = from.stack_pointer; depth < capacity; ++depth) {
    if (fp == 0) {
      *is_complete = true;  // what starts a thread sets it so
      break;
    }
    if (fp < lowest || fp % sizeof(uint64_t) != 0 || end - lowest < 16 || fp > end - 16) break;
    const auto* record = reinterpret_cast<const uint64_t*>(fp);
    if (record[1] == 0) {
      *is_complete = true;
      break;
    }
    pcs[depth] = replaced.Original(record[1]);
    lowest = fp + 16;
    fp = record[0];
  }
  return depth;
}

}  // namespace lagwatch::trace
