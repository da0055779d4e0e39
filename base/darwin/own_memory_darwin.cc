// SPDX-License-Identifier: Apache-2.0
#include "base/process/own_memory.h"

namespace lagwatch::base {

void* MapOwn(size_t size_bytes) { return MapUnlocked(size_bytes); }

void* MapKept(size_t size_bytes) { return MapUnlocked(size_bytes); }

bool GuardPages(void* memory, size_t size_bytes) {
  mprotect(memory, size_bytes, PROT_NONE);
  return false;
}

void* TakeWiped(size_t /*size_bytes*/) { return nullptr; }

}  // namespace lagwatch::base
