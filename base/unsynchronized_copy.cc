// SPDX-License-Identifier: Apache-2.0
#include "base/unsynchronized_copy.h"

#include <cstdint>

namespace lagwatch::base {

__attribute__((no_sanitize("thread"))) void CopyUnsynchronized(const void* from, void* to,
                                                               size_t size_bytes) {
  auto* source = static_cast<const unsigned char*>(from);
  auto* destination = static_cast<unsigned char*>(to);
  for (; size_bytes != 0 && reinterpret_cast<uintptr_t>(source) % sizeof(uint64_t) != 0; --size_bytes)
    *destination++ = __atomic_load_n(source++, __ATOMIC_RELAXED);
  for (; size_bytes >= sizeof(uint64_t); size_bytes -= sizeof(uint64_t)) {
    const uint64_t word = __atomic_load_n(reinterpret_cast<const uint64_t*>(source), __ATOMIC_RELAXED);
    __builtin_memcpy(destination, &word, sizeof word);
    source += sizeof word;
    destination += sizeof word;
  }
  for (; size_bytes != 0; --size_bytes) *destination++ = __atomic_load_n(source++, __ATOMIC_RELAXED);
}

}  // namespace lagwatch::base
