// SPDX-License-Identifier: Apache-2.0
// System calls that go by no function of the C library, on which there may be a probe, and leave errno and
// the vector registers alone. Linux. Context: hot.
#pragma once

#include <cstdint>
#if !defined(__x86_64__)
#include <unistd.h>

#include <cerrno>
#endif

namespace lagwatch::base {

// Returns the kernel's answer: an error is a negative number.
inline int64_t CallKernel(int64_t number, uint64_t first = 0, uint64_t second = 0, uint64_t third = 0,
                          uint64_t fourth = 0, uint64_t fifth = 0, uint64_t sixth = 0) {
#if defined(__x86_64__)
  register uint64_t r10 asm("r10") = fourth;
  register uint64_t r8 asm("r8") = fifth;
  register uint64_t r9 asm("r9") = sixth;
  asm volatile("syscall"
               : "+a"(number)
               : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return number;
#else
  const int saved_errno = errno;
  const long result = syscall(number, first, second, third, fourth, fifth, sixth);
  const int64_t answer = result < 0 ? -errno : result;
  errno = saved_errno;
  return answer;
#endif
}

}  // namespace lagwatch::base
