// SPDX-License-Identifier: Apache-2.0
// Functions whose return addresses the processor signs (arm64 pointer authentication).
#pragma once

#include <atomic>
#include <cstdint>

#define LAGWATCH_DECLARE_SIGNED_CALLS(name)                                                      \
  namespace name {                                                                               \
  /* Saves nothing: its caller's address is in a register, signed. */                            \
  void SpinSigned(const std::atomic<bool>& stop);                                                \
  /* Calls that. Returns its saved return address; only its frame pointer shows its size. */     \
  void Innermost(const std::atomic<bool>& stop, std::atomic<uint64_t>* return_address);          \
  /* Calls that from below `depth` frames of its own. */                                         \
  void Descend(int depth, const std::atomic<bool>& stop, std::atomic<uint64_t>* return_address); \
  void Call(void (*function)());                                                                 \
  }

namespace lagwatch::stack {
LAGWATCH_DECLARE_SIGNED_CALLS(with_key_a)
LAGWATCH_DECLARE_SIGNED_CALLS(with_key_b)
}  // namespace lagwatch::stack
