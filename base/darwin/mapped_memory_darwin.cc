// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/process/mapped_memory.h"

namespace lagwatch::base {

void* MapUnlocked(size_t size_bytes) {
  void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void* ResizeUnlocked(void* memory, size_t old_size_bytes, size_t new_size_bytes) {
  void* moved = MapUnlocked(new_size_bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, std::min(old_size_bytes, new_size_bytes));
  munmap(memory, old_size_bytes);
  return moved;
}

}  // namespace lagwatch::base
