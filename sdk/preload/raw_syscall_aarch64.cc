// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "sdk/preload/raw_syscall.h"

namespace lagwatch::sdk {

long RawSyscall(long number, long a, long b, long c, long d, long e, long f) {
  constexpr long kLastError = -4095;
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  if (x0 < kLastError || x0 >= 0) return x0;
  errno = static_cast<int>(-x0);
  return -1;
}

}  // namespace lagwatch::sdk
