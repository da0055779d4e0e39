// SPDX-License-Identifier: Apache-2.0
// LagwatchLoadHook: see load_hooks.cc.

asm(R"(
  .pushsection .text
  .globl LagwatchLoadHook
  .hidden LagwatchLoadHook
  .type LagwatchLoadHook, %function
LagwatchLoadHook:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  mov x29, sp
  stp x0, x1, [sp, #16]
  bl LagwatchLoadTarget
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_adjust_cfa_offset -32
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
  .size LagwatchLoadHook, . - LagwatchLoadHook
  .popsection
)");
