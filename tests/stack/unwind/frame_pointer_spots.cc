// SPDX-License-Identifier: Apache-2.0
#include "tests/stack/unwind/frame_pointer_spots.h"

#include <cstdint>

namespace lagwatch::stack {
namespace {

[[gnu::noinline]] uint64_t Mix(uint64_t value) {
  asm volatile("" : "+r"(value));
  return value * 0x9e3779b97f4a7c15;
}

[[gnu::noinline]] uint64_t MixLargeFrame(uint64_t value) {
  volatile uint64_t room[700];
  room[value % 700] = value;
  return Mix(room[value % 700]) + 1;
}

[[gnu::noinline]] uint64_t Recurse(uint64_t value, int depth) {
  const uint64_t mixed = depth == 0 ? MixLargeFrame(value) : Recurse(value, depth - 1);
  return Mix(mixed) ^ value;
}

[[gnu::noinline]] uint64_t MixVariableFrame(uint64_t value) {
  auto* room = static_cast<volatile char*>(__builtin_alloca(16 + value % 64));
  room[0] = static_cast<char>(value);
  return Recurse(value, static_cast<int>(value % 8)) + static_cast<uint64_t>(room[0]);
}

}  // namespace

void RunWithFramePointers(const std::atomic<bool>& stop) {
  volatile uint64_t value = 1;
  while (!stop.load(std::memory_order_relaxed)) value = MixVariableFrame(value + 1);
}

}  // namespace lagwatch::stack
