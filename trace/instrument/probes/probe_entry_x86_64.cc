// SPDX-License-Identifier: Apache-2.0
// The code that the sites of probes call, when a function begins or a note is passed; the functions that it
// calls are in probe_hits_x86_64.cc.

// All general registers that a call may change are kept: callers in the same unit may know which ones a
// function leaves alone, and functions with conventions of their own use others. Its unwind table has the
// function's caller as its own: the site's code between the two has none. lagwatch_probe_note keeps the
// flags, too, and the red zone; its caller is the note's place in its function.
asm(R"(
  .pushsection .text
  .hidden lagwatch_probe_entry
  .globl lagwatch_probe_entry
  .type lagwatch_probe_entry, @function
  .balign 64
lagwatch_probe_entry:
  .cfi_startproc
  .cfi_def_cfa rsp, 16
  sub $96, %rsp
  .cfi_escape 0x0f, 0x0f, 0x77, 0xe0, 0x00, 0x06, 0x08, 0x0e, 0x1c, 0x06, 0x23, 0x08, 0x06, 0x77, 0xf0, 0x00, 0x22
  mov %rdi, (%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  mov %rax, 48(%rsp)
  mov %r10, 56(%rsp)
  mov %r11, 64(%rsp)
  mov %rbp, 80(%rsp)
  mov %rsp, %rdi
  call lagwatch_on_probe_entry
  mov (%rsp), %rdi
  mov 8(%rsp), %rsi
  mov 16(%rsp), %rdx
  mov 24(%rsp), %rcx
  mov 32(%rsp), %r8
  mov 40(%rsp), %r9
  mov 48(%rsp), %rax
  mov 56(%rsp), %r10
  mov 64(%rsp), %r11
  add $96, %rsp
  .cfi_def_cfa rsp, 16
  ret
  .cfi_endproc
  .size lagwatch_probe_entry, . - lagwatch_probe_entry
  .hidden lagwatch_probe_note
  .globl lagwatch_probe_note
  .type lagwatch_probe_note, @function
  .balign 64
lagwatch_probe_note:
  .cfi_startproc
  .cfi_signal_frame
  .cfi_def_cfa rsp, 136
  .cfi_escape 0x16, 0x10, 0x09, 0x08, 0x88, 0x1c, 0x06, 0x08, 0x13, 0x1c, 0x06, 0x06
  pushfq
  .cfi_adjust_cfa_offset 8
  push %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r15, 0
  push %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r14, 0
  push %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r13, 0
  push %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r12, 0
  push %r11
  push %r10
  push %r9
  push %r8
  push %rsp
  push %rbp
  .cfi_adjust_cfa_offset 48
  .cfi_rel_offset rbp, 0
  push %rdi
  push %rsi
  push %rbx
  .cfi_adjust_cfa_offset 24
  .cfi_rel_offset rbx, 0
  push %rcx
  push %rdx
  push %rax
  .cfi_adjust_cfa_offset 24
  mov %rsp, %rdi
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
  cld
  and $-16, %rsp
  call lagwatch_on_probe_note
  mov %rbp, %rsp
  .cfi_def_cfa_register rsp
  pop %rax
  pop %rdx
  pop %rcx
  pop %rbx
  .cfi_restore rbx
  pop %rsi
  pop %rdi
  pop %rbp
  .cfi_adjust_cfa_offset -56
  .cfi_restore rbp
  lea 8(%rsp), %rsp
  pop %r8
  pop %r9
  pop %r10
  pop %r11
  pop %r12
  .cfi_restore r12
  pop %r13
  .cfi_restore r13
  pop %r14
  .cfi_restore r14
  pop %r15
  .cfi_restore r15
  .cfi_adjust_cfa_offset -72
  popfq
  .cfi_adjust_cfa_offset -8
  ret $128
  .cfi_endproc
  .size lagwatch_probe_note, . - lagwatch_probe_note
  .hidden lagwatch_store_vector_args
  .globl lagwatch_store_vector_args
  .type lagwatch_store_vector_args, @function
lagwatch_store_vector_args:
  .cfi_startproc
  movups %xmm2, 32(%rdi)
  movups %xmm3, 48(%rdi)
  movups %xmm4, 64(%rdi)
  movups %xmm5, 80(%rdi)
  movups %xmm6, 96(%rdi)
  movups %xmm7, 112(%rdi)
  .hidden lagwatch_store_vector_results
  .globl lagwatch_store_vector_results
lagwatch_store_vector_results:
  movups %xmm0, (%rdi)
  movups %xmm1, 16(%rdi)
  ret
  .cfi_endproc
  .size lagwatch_store_vector_args, . - lagwatch_store_vector_args
  .hidden lagwatch_call_baseline
  .globl lagwatch_call_baseline
  .type lagwatch_call_baseline, @function
lagwatch_call_baseline:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
  sub $256, %rsp
  and $-16, %rsp
  movups %xmm0, 0(%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movups %xmm8, 128(%rsp)
  movups %xmm9, 144(%rsp)
  movups %xmm10, 160(%rsp)
  movups %xmm11, 176(%rsp)
  movups %xmm12, 192(%rsp)
  movups %xmm13, 208(%rsp)
  movups %xmm14, 224(%rsp)
  movups %xmm15, 240(%rsp)
  call *%r8
  movups 0(%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  movups 128(%rsp), %xmm8
  movups 144(%rsp), %xmm9
  movups 160(%rsp), %xmm10
  movups 176(%rsp), %xmm11
  movups 192(%rsp), %xmm12
  movups 208(%rsp), %xmm13
  movups 224(%rsp), %xmm14
  movups 240(%rsp), %xmm15
  leave
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
  .size lagwatch_call_baseline, . - lagwatch_call_baseline
  .popsection
)");
