// SPDX-License-Identifier: Apache-2.0
// LagwatchLoadHook: see load_hooks.cc.

asm(R"(
  .pushsection .text
  .globl LagwatchLoadHook
  .hidden LagwatchLoadHook
  .type LagwatchLoadHook, @function
LagwatchLoadHook:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call LagwatchLoadTarget
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size LagwatchLoadHook, . - LagwatchLoadHook
  .popsection
)");
