// SPDX-License-Identifier: Apache-2.0
// Reads of this process's memory that fail instead of faulting, for addresses that another thread may unmap
// at any moment. Of any process: base/process/process.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

// Copies up to `size_bytes` from `address`; returns how many bytes could be read before the first
// unreadable page (0 when none). One system call in the usual case. Context: watchdog.
size_t ReadOwnMemory(uint64_t address, void* destination, size_t size_bytes);

// The same for the program's threads, which may be in any state: opens no file where the call is forbidden,
// and makes no call at all once the process has confined itself (IsConfined() in base/system/seccomp.h); then
// 0. Context: hot.
size_t ReadOwnMemoryByCall(uint64_t address, void* destination, size_t size_bytes);

// Reads one value; false when it is not readable. Context: watchdog.
template <typename T>
bool ReadOwnValue(uint64_t address, T* value) {
  return ReadOwnMemory(address, value, sizeof *value) == sizeof *value;
}

// Whether there is memory; true also where the system does not let us ask. Changes errno.
// Context: any thread.
bool IsReadable(uint64_t address);

// Copies the NUL-terminated string at `address`, cut at `size_bytes - 1` characters, always terminated;
// empty when it cannot be read. Context: watchdog.
void ReadOwnString(uint64_t address, char* destination, size_t size_bytes);

// The same for a string that no other thread takes away meanwhile. Unlike the others it never waits for a
// change of the process's memory map: the kernel is only asked whether the page is there (a system call that
// reads eight bytes, and does nothing). Changes errno. Context: any thread.
void CopyOwnString(const char* text, char* destination, size_t size_bytes);

}  // namespace lagwatch::base
