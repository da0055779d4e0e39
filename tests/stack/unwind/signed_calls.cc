// SPDX-License-Identifier: Apache-2.0
// Built with signed return addresses, once for each of the two keys.
#include "tests/stack/unwind/signed_calls.h"

#include <cstddef>

namespace lagwatch::stack::LAGWATCH_SIGNED_CALLS {

[[gnu::noinline]] void SpinSigned(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
  }
  asm volatile("");
}

[[gnu::noinline]] void Innermost(const std::atomic<bool>& stop, std::atomic<uint64_t>* return_address) {
  // A frame record is {the caller's frame pointer, return address}.
  *return_address = static_cast<const uint64_t*>(__builtin_frame_address(0))[1];
  volatile size_t size_bytes = 1000;
  auto* room = static_cast<volatile char*>(__builtin_alloca(size_bytes));
  room[0] = 1;
  SpinSigned(stop);
  room[1] = room[0];
}

[[gnu::noinline]] void Descend(int depth, const std::atomic<bool>& stop,
                               std::atomic<uint64_t>* return_address) {
  if (depth == 1) {
    Innermost(stop, return_address);
  } else {
    Descend(depth - 1, stop, return_address);
  }
  asm volatile("");
}

[[gnu::noinline]] void Call(void (*function)()) {
  function();
  asm volatile("");
}

}  // namespace lagwatch::stack::LAGWATCH_SIGNED_CALLS
