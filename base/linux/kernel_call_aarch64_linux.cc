// SPDX-License-Identifier: Apache-2.0
#include "base/system/kernel_call.h"

namespace lagwatch::base {

int64_t CallKernel(int64_t number, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth,
                   uint64_t fifth) {
  register int64_t x8 asm("x8") = number;
  register uint64_t x0 asm("x0") = first;
  register uint64_t x1 asm("x1") = second;
  register uint64_t x2 asm("x2") = third;
  register uint64_t x3 asm("x3") = fourth;
  register uint64_t x4 asm("x4") = fifth;
  register uint64_t x5 asm("x5") = 0;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return static_cast<int64_t>(x0);
}

}  // namespace lagwatch::base
