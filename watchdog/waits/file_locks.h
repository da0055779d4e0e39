// SPDX-License-Identifier: Apache-2.0
// Finds the holder of the file lock that a thread waits for, in /proc/locks. Context: watchdog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/process/process.h"

namespace lagwatch::watchdog {

// Whether fcntl(2) waits for a lock by this command. Pure.
bool IsFileLockCommand(uint64_t command);

struct FileLock {
  char kind[16] = {};         // "FLOCK", "POSIX", "OFDLCK"; empty where no such wait was found
  int32_t holder_pid = 0;     // 0: unknown to the kernel
  uint32_t holder_count = 0;  // readers may be many
};

// Of the lock on the file `inode` (0: not known) that process `pid` waits for. `locks` are the lines of
// /proc/locks; a wait comes after the lock that it waits for, under the same number. Pure.
FileLock FindAwaitedLock(std::string_view locks, int32_t pid, uint64_t inode);

// The same, of the file that `thread` has as `descriptor`.
FileLock ReadAwaitedLock(const base::Thread& thread, int descriptor);

}  // namespace lagwatch::watchdog
