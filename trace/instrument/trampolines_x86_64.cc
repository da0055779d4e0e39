// SPDX-License-Identifier: Apache-2.0
// The code that patched functions run through; the functions that it calls are in return_thunks_x86_64.cc.
#include "trace/instrument/return_thunks.h"

// A thunk is eight bytes: a jump to lagwatch_return, and three that are never run. They lie in
// zero-initialized memory outside of the module's file, and are written when they are first needed. Each has
// its original return address kMaxThunks * 8 bytes before it, which the unwind table says, too:
// DW_CFA_val_expression for the return address, less 1, of a frame marked as a signal's. With this mark, the
// libgcc unwinder distinguishes the thunk's frame from the caller's, which have one CFA; and it does not take
// 1 off the address, as it does after calls, so we do. In bytes: 0x16 val_expression, 16 (rip), 15 bytes:
// breg7 (rsp) -8, deref, const1s -8, and, const4u 0x40000, minus, deref, lit1, minus.
// The personality routine is called by unwinders that leave the frame: the end of calls that exceptions
// leave.
asm(R"(
  .pushsection .data.rel.ro.lagwatch_thunks, "aw", @progbits
  .balign 8
  .hidden lagwatch_thunk_personality
lagwatch_thunk_personality_pointer:
  .quad lagwatch_thunk_personality
  .popsection
  .pushsection .bss.lagwatch_thunks, "aw", @nobits
  .balign 4096
  .hidden lagwatch_originals
  .globl lagwatch_originals
lagwatch_originals:
  .space 0x40000
  .hidden lagwatch_thunks
  .globl lagwatch_thunks
  .cfi_startproc
  .cfi_signal_frame
  .cfi_personality 0x9b, lagwatch_thunk_personality_pointer
  .cfi_def_cfa rsp, 0
  .cfi_escape 0x16, 0x10, 0x0f, 0x77, 0x78, 0x06, 0x09, 0xf8, 0x1a, 0x0c, 0x00, 0x00, 0x04, 0x00, 0x1c, 0x06, 0x31, 0x1c
lagwatch_thunks:
  .space 0x40000
  .cfi_endproc
  .popsection
)");

// A patched function's arguments and results must survive: all registers that a call may change are saved,
// general ones here, vector registers only around code that may use them.
// lagwatch_return is jumped to, and ends in a jump: a call and a return would make the processor expect the
// wrong address once more. The thunk's address is still where the function's return has found it, below the
// stack pointer, where no signal writes.
asm(R"(
  .macro lagwatch_save offset
    sub $\offset, %rsp
    .cfi_adjust_cfa_offset \offset
    mov %rax, (%rsp)
    mov %rcx, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rsi, 24(%rsp)
    mov %rdi, 32(%rsp)
    mov %r8, 40(%rsp)
    mov %r9, 48(%rsp)
    mov %r10, 56(%rsp)
    mov %r11, 64(%rsp)
  .endm
  .macro lagwatch_restore offset
    mov (%rsp), %rax
    mov 8(%rsp), %rcx
    mov 16(%rsp), %rdx
    mov 24(%rsp), %rsi
    mov 32(%rsp), %rdi
    mov 40(%rsp), %r8
    mov 48(%rsp), %r9
    mov 56(%rsp), %r10
    mov 64(%rsp), %r11
    add $\offset, %rsp
    .cfi_adjust_cfa_offset -\offset
  .endm
  .macro lagwatch_entry_from name, distance
    .hidden \name
    .globl \name
    .type \name, @function
    .balign 64
  \name:
    .cfi_startproc
    lagwatch_save 80
    mov 80(%rsp), %rdi
    sub $\distance, %rdi
    lea 88(%rsp), %rsi
    call lagwatch_on_entry
    lagwatch_restore 80
    ret
    .cfi_endproc
    .size \name, . - \name
  .endm
  .pushsection .data.lagwatch_saved_bytes, "aw", @progbits
  .balign 8
  .hidden lagwatch_saved_bytes
  .globl lagwatch_saved_bytes
lagwatch_saved_bytes:
  .quad 4096
  .hidden lagwatch_saved_way
  .globl lagwatch_saved_way
lagwatch_saved_way:
  .long 0
  .popsection
  .pushsection .text
  lagwatch_entry_from lagwatch_entry, 5
  lagwatch_entry_from lagwatch_entry_after_landing_pad, 9
  .hidden lagwatch_return
  .globl lagwatch_return
  .type lagwatch_return, @function
  .balign 64
lagwatch_return:
  .cfi_startproc
  .cfi_def_cfa rsp, 0
  lea -8(%rsp), %rsp
  .cfi_adjust_cfa_offset 8
  lagwatch_save 72
  mov 72(%rsp), %rdi
  mov %rsp, %rsi
  call lagwatch_on_return
  mov %rax, 72(%rsp)
  lagwatch_restore 72
  lea 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  notrack jmp *-8(%rsp)
  .cfi_endproc
  .size lagwatch_return, . - lagwatch_return
  .popsection
)");

// xrstor takes 90 ns even of nothing; moves of all vector registers take 8. So these are moved one by one,
// those parts that the processor says are in use. Parts that are not must not be when this is done either:
// code for plain x86-64 is slow once the upper halves are in use, which zeros in them do not change.
// In the frame: 0 the vector registers, 2048 the masks, 2112 MXCSR, 2120 the parts in use, 2176 the x87
// unit's state by fxsave, which is slow, too, and seldom in use.
asm(R"(
  .macro lagwatch_low_registers operation
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
      \operation \number
    .endr
  .endm
  .macro lagwatch_high_registers operation
    .irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
      \operation \number
    .endr
  .endm
  .macro lagwatch_save_xmm number
    movaps %xmm\number, 64*\number(%rsp)
  .endm
  .macro lagwatch_restore_xmm number
    movaps 64*\number(%rsp), %xmm\number
  .endm
  .macro lagwatch_save_ymm number
    vmovaps %ymm\number, 64*\number(%rsp)
  .endm
  .macro lagwatch_restore_ymm number
    vmovaps 64*\number(%rsp), %ymm\number
  .endm
  .macro lagwatch_save_zmm number
    vmovaps %zmm\number, 64*\number(%rsp)
  .endm
  .macro lagwatch_restore_zmm number
    vmovaps 64*\number(%rsp), %zmm\number
  .endm
  .pushsection .text
  .hidden lagwatch_call_saved
  .globl lagwatch_call_saved
  .type lagwatch_call_saved, @function
  .balign 64
lagwatch_call_saved:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
  cmpl $0, lagwatch_saved_way(%rip)
  je 9f
  sub $2688, %rsp
  and $-64, %rsp
  mov %rdx, %r9
  mov %rcx, %r10
  mov $1, %ecx
  xgetbv
  mov %eax, %r11d
  mov %r11, 2120(%rsp)
  mov %r9, %rdx
  mov %r10, %rcx
  test $0x40, %r11d
  jnz 2f
  test $0x04, %r11d
  jnz 1f
  lagwatch_low_registers lagwatch_save_xmm
  jmp 3f
1:
  lagwatch_low_registers lagwatch_save_ymm
  jmp 3f
2:
  lagwatch_low_registers lagwatch_save_zmm
3:
  cmpl $2, lagwatch_saved_way(%rip)
  jne 4f
  lagwatch_high_registers lagwatch_save_zmm
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq %k\number, 2048+8*\number(%rsp)
  .endr
4:
  test $0x01, %r11d
  jz 5f
  fxsave64 2176(%rsp)
5:
  stmxcsr 2112(%rsp)
  mov 2112(%rsp), %eax
  and $~0x3f, %eax
  cmp $0x1f80, %eax
  je 6f
  movl $0x1f80, 2116(%rsp)
  ldmxcsr 2116(%rsp)
6:
  call *%r8
  mov 2120(%rsp), %r11
  test $0x01, %r11d
  jz 1f
  fxrstor64 2176(%rsp)
  jmp 2f
1:
  fnstsw %ax
  test $0x3f, %al
  jz 2f
  fnclex
2:
  cmpl $2, lagwatch_saved_way(%rip)
  jne 3f
  lagwatch_high_registers lagwatch_restore_zmm
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq 2048+8*\number(%rsp), %k\number
  .endr
3:
  test $0x40, %r11d
  jnz 2f
  test $0x04, %r11d
  jnz 1f
  vzeroupper
  lagwatch_low_registers lagwatch_restore_xmm
  jmp 3f
1:
  lagwatch_low_registers lagwatch_restore_ymm
  jmp 3f
2:
  lagwatch_low_registers lagwatch_restore_zmm
3:
  ldmxcsr 2112(%rsp)
  leave
  .cfi_remember_state
  .cfi_def_cfa rsp, 8
  ret
9:  # by the processor's own instruction
  .cfi_restore_state
  sub lagwatch_saved_bytes(%rip), %rsp
  and $-64, %rsp
  xor %eax, %eax
  mov %rax, 512(%rsp)
  mov %rax, 520(%rsp)
  mov %rax, 528(%rsp)
  mov %rax, 536(%rsp)
  mov %rax, 544(%rsp)
  mov %rax, 552(%rsp)
  mov %rax, 560(%rsp)
  mov %rax, 568(%rsp)
  mov %rdx, %r9
  mov $0xe7, %eax
  xor %edx, %edx
  xsave (%rsp)
  mov %r9, %rdx
  call *%r8
  mov $0xe7, %eax
  xor %edx, %edx
  xrstor (%rsp)
  leave
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
  .size lagwatch_call_saved, . - lagwatch_call_saved
  .popsection
)");
