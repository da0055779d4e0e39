// SPDX-License-Identifier: Apache-2.0
// The memory of another process or thread, whatever program it runs. Context: background. Linux.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace lagwatch::tools {

// Returns the number of bytes that were read: fewer than `size` where the memory ends, 0 with errno on
// errors.
inline size_t ReadMemory(pid_t pid, uint64_t address, void* bytes, size_t size) {
  const iovec to{bytes, size};
  const iovec from{reinterpret_cast<void*>(address), size};
  const ssize_t read = process_vm_readv(pid, &to, 1, &from, 1, 0);
  return read < 0 ? 0 : static_cast<size_t>(read);
}

}  // namespace lagwatch::tools
