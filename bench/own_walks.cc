// SPDX-License-Identifier: Apache-2.0
#include "bench/own_walks.h"

namespace lagwatch::bench {
namespace {

template <int kShape>
[[gnu::noinline]] int DescendShape(int depth, const std::function<void()>& at_the_end) {
  volatile char locals[16 + 24 * kShape] = {};
  int sum = depth;
  if (depth == 0) {
    at_the_end();
  } else {
    sum += DescendShape<(kShape + 1) % 16>(depth - 1, at_the_end);
  }
  asm volatile("" : : "r"(locals), "r"(sum) : "memory");
  return sum;
}

}  // namespace

void DescendWithFramePointers(int depth, const std::function<void()>& at_the_end) {
  DescendShape<0>(depth, at_the_end);
}

[[gnu::noinline]] size_t WalkByFramePointers(uint64_t* program_counters, size_t capacity) {
  const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
  size_t count = 0;
  while (count < capacity) {
    program_counters[count++] = frame[1];
    const auto* next = reinterpret_cast<const uint64_t*>(frame[0]);
    // The usual guards against functions that keep none.
    if (next <= frame || next > frame + (256 << 10) / sizeof *frame) break;
    frame = next;
  }
  return count;
}

[[gnu::noinline]] size_t WalkOwnStack(const stack::OwnStackWalker& walker, uint64_t* program_counters,
                                      size_t capacity) {
  bool is_complete;
  return walker.WalkCallers(program_counters, capacity, &is_complete);
}

}  // namespace lagwatch::bench
