// SPDX-License-Identifier: Apache-2.0
// The memory of the program that a process ran when it was opened. After an exec it leads to no other one:
// nothing can be read or written any more. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/owned_fd.h"
#include "base/status.h"

namespace lagwatch::tools {

class AddressSpace {
 public:
  // Errors: kNotFound if there is no such process, kUnauthorized if the system does not let us.
  static base::Result<AddressSpace> Open(pid_t pid);

  pid_t pid() const { return pid_; }
  // Returns the number of bytes that were read: fewer than `size` where the memory ends.
  size_t Read(uint64_t address, void* bytes, size_t size) const;
  // False, with errno, unless all bytes were written; it may have written some of them.
  bool Write(uint64_t address, const void* bytes, size_t size) const;
  // Whether this is the memory of a thread that ptrace has stopped: what was looked up before the stop is
  // true of it. Costs two system calls.
  bool IsOf(pid_t tid) const;
  // Whether it is the process's still.
  bool IsCurrent() const;

 private:
  // Random bytes that the kernel gives to each program at its start, at a random address.
  struct Mark {
    uint64_t low = 0;
    uint64_t high = 0;
    bool operator==(const Mark&) const = default;
  };

  pid_t pid_ = 0;
  base::OwnedFd memory_;
  uint64_t mark_address_ = 0;
};

}  // namespace lagwatch::tools
