// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/process/mapped_memory.h"

namespace lagwatch::base {

void* MapUnlocked(size_t size_bytes) {
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(__SANITIZE_THREAD__)  // which does not know mremap(2), and locks nothing
  const size_t first_bytes = size_bytes;
#else
  // Under MCL_FUTURE only this page is filled and counted. Unlocked, it grows as memory that is not locked.
  const size_t first_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
  void* memory = mmap(nullptr, first_bytes, kProtection, kFlags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  munlock(memory, first_bytes);
  if (size_bytes <= first_bytes) return memory;
  void* grown = mremap(memory, first_bytes, size_bytes, MREMAP_MAYMOVE);
  if (grown != MAP_FAILED) return grown;
  munmap(memory, first_bytes);
  return nullptr;
}

void* ResizeUnlocked(void* memory, size_t old_size_bytes, size_t new_size_bytes) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not know mremap(2): it would report a race with the next mapping at this address.
  void* moved = MapUnlocked(new_size_bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, std::min(old_size_bytes, new_size_bytes));
  munmap(memory, old_size_bytes);
  return moved;
#else
  void* moved = mremap(memory, old_size_bytes, new_size_bytes, MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? nullptr : moved;
#endif
}

}  // namespace lagwatch::base
