/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that no compiler would write. */
  .text

  .globl ZooAssemblyLeaf
  .type ZooAssemblyLeaf, @function
ZooAssemblyLeaf:
  lea (%rdi, %rsi), %rax
  imul $3, %rax
  ret
  .size ZooAssemblyLeaf, . - ZooAssemblyLeaf

  .globl ZooAssemblyFrame
  .type ZooAssemblyFrame, @function
ZooAssemblyFrame:
  push %rbp
  mov %rsp, %rbp
  sub $32, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  leave
  ret
  .size ZooAssemblyFrame, . - ZooAssemblyFrame

  .globl ZooAssemblyDescribed
  .type ZooAssemblyDescribed, @function
ZooAssemblyDescribed:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  push %rbp
  .cfi_def_cfa_offset 24
  .cfi_offset %rbp, -24
  mov %rsp, %rbx
  .cfi_def_cfa_register %rbx
  and $-64, %rsp
  xor %ebp, %ebp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  mov %rbx, %rsp
  .cfi_def_cfa_register %rsp
  pop %rbp
  .cfi_def_cfa_offset 16
  .cfi_restore %rbp
  pop %rbx
  .cfi_def_cfa_offset 8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size ZooAssemblyDescribed, . - ZooAssemblyDescribed

/* Ends with a frame that the next function does not have, and right where that begins. */
  .type ZooAssemblyNeighbour, @function
ZooAssemblyNeighbour:
  .cfi_startproc
  sub $72, %rsp
  .cfi_def_cfa_offset 80
  ud2
  .cfi_endproc
  .size ZooAssemblyNeighbour, . - ZooAssemblyNeighbour

  .globl ZooAssemblyFaultsAtOnce
  .type ZooAssemblyFaultsAtOnce, @function
ZooAssemblyFaultsAtOnce:
  .cfi_startproc
  ud2
  mov $1, %eax
  ret
  .cfi_endproc
  .size ZooAssemblyFaultsAtOnce, . - ZooAssemblyFaultsAtOnce

  .section .rodata
  .globl kZooFramePointerCode
  .balign 8
kZooFramePointerCode:
  push %rbp
  mov %rsp, %rbp
  sub $16, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  add $16, %rsp
  pop %rbp
  ret
.Lend:
  .globl kZooFramePointerCodeSize
  .balign 8
kZooFramePointerCodeSize:
  .quad .Lend - kZooFramePointerCode

  .section .note.GNU-stack, "", @progbits
