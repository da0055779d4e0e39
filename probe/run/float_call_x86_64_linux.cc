// SPDX-License-Identifier: Apache-2.0
#include "probe/run/float_call.h"

asm(R"(
  .pushsection .text
  .hidden lagwatch_call_with_floats
  .globl lagwatch_call_with_floats
  .type lagwatch_call_with_floats, @function
  .balign 64
lagwatch_call_with_floats:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
  sub $272, %rsp
  and $-16, %rsp
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps %xmm\number, 16*\number(%rsp)
  .endr
  stmxcsr 256(%rsp)
  movl $0x1f80, 260(%rsp)
  ldmxcsr 260(%rsp)
  call *%rcx
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps 16*\number(%rsp), %xmm\number
  .endr
  ldmxcsr 256(%rsp)
  leave
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
  .size lagwatch_call_with_floats, . - lagwatch_call_with_floats
  .popsection
)");
