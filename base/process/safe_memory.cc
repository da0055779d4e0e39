// SPDX-License-Identifier: Apache-2.0
#include "base/process/safe_memory.h"

#include <cstring>

namespace lagwatch::base {

void CopyOwnString(const char* text, char* destination, size_t size_bytes) {
  constexpr uint64_t kPageMask = 4095;
  const auto address = reinterpret_cast<uint64_t>(text);
  size_t size = 0;
  for (; size + 1 < size_bytes; ++size) {
    const bool is_new_page = size == 0 || ((address + size) & kPageMask) == 0;
    if (is_new_page && !IsReadable(address + size)) break;
    if (text[size] == '\0') break;
    destination[size] = text[size];
  }
  if (size_bytes != 0) destination[size] = '\0';
}

void ReadOwnString(uint64_t address, char* destination, size_t size_bytes) {
  if (size_bytes == 0) return;
  size_t got = ReadOwnMemory(address, destination, size_bytes - 1);
  destination[got] = '\0';
  destination[strnlen(destination, got)] = '\0';
}

}  // namespace lagwatch::base
