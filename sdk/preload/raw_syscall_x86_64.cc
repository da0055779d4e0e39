// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "sdk/preload/raw_syscall.h"

namespace lagwatch::sdk {

long RawSyscall(long number, long a, long b, long c, long d, long e, long f) {
  constexpr long kLastError = -4095;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result < kLastError || result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace lagwatch::sdk
