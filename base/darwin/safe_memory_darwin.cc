// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include <algorithm>

#include "base/process/process.h"
#include "base/process/safe_memory.h"

namespace lagwatch::base {
namespace {

bool TryRead(uint64_t address, char* destination, size_t size_bytes) {
  vm_size_t read_bytes = 0;
  return vm_read_overwrite(mach_task_self(), address, size_bytes, reinterpret_cast<vm_address_t>(destination),
                           &read_bytes) == KERN_SUCCESS;
}

}  // namespace

bool IsReadable(uint64_t address) {
  char byte;
  return TryRead(address, &byte, sizeof byte);
}

// The call reads all or nothing, so what spans an unreadable page is read again page by page.
size_t ReadOwnMemoryByCall(uint64_t address, void* destination, size_t size_bytes) {
  return ReadOwnMemory(address, destination, size_bytes);  // it opens no file on this system
}

size_t ReadOwnMemory(uint64_t address, void* destination, size_t size_bytes) {
  constexpr uint64_t kPageBytes = 4096;
  auto* out = static_cast<char*>(destination);
  if (TryRead(address, out, size_bytes)) return size_bytes;
  size_t done = 0;
  while (done < size_bytes) {
    const uint64_t at = address + done;
    const size_t piece = std::min<size_t>(kPageBytes - at % kPageBytes, size_bytes - done);
    if (!TryRead(at, out + done, piece)) break;
    done += piece;
  }
  return done;
}

size_t Process::Read(uint64_t address, void* destination, size_t size_bytes) const {
  return ReadOwnMemory(address, destination, size_bytes);
}

}  // namespace lagwatch::base
