// SPDX-License-Identifier: Apache-2.0
// Functions whose return addresses the processor signs (arm64 pointer authentication).
#pragma once

#include <atomic>
#include <cstdint>

#define LAGWATCH_DECLARE_SIGNED_CALLS(name)                                                                  \
  namespace name {                                                                                           \
  void SpinSigned(const std::atomic<bool>& stop); /* saves nothing: its signature is in the link register */ \
  void Innermost(const std::atomic<bool>& stop, std::atomic<uint64_t>* return_address);                      \
  /* `depth` frames of its own, then Innermost, which says what is saved as its return address. */           \
  void Descend(int depth, const std::atomic<bool>& stop, std::atomic<uint64_t>* return_address);             \
  }

namespace lagwatch::stack {
LAGWATCH_DECLARE_SIGNED_CALLS(with_key_a)
LAGWATCH_DECLARE_SIGNED_CALLS(with_key_b)
}  // namespace lagwatch::stack
