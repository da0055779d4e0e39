// SPDX-License-Identifier: Apache-2.0
// The memory of another process. Context: background. Linux.
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

// False, with errno, unless all bytes were written; it may have written some of them.
inline bool WriteMemory(pid_t pid, uint64_t address, const void* bytes, size_t size) {
  const iovec from{const_cast<void*>(bytes), size};
  const iovec to{reinterpret_cast<void*>(address), size};
  return process_vm_writev(pid, &from, 1, &to, 1, 0) == static_cast<ssize_t>(size);
}

}  // namespace lagwatch::tools
