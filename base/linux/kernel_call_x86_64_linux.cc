// SPDX-License-Identifier: Apache-2.0
#include "base/system/kernel_call.h"

namespace lagwatch::base {

int64_t CallKernel(int64_t number, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth,
                   uint64_t fifth) {
  register uint64_t r10 asm("r10") = fourth;
  register uint64_t r8 asm("r8") = fifth;
  register uint64_t r9 asm("r9") = 0;
  asm volatile("syscall"
               : "+a"(number)
               : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return number;
}

}  // namespace lagwatch::base
