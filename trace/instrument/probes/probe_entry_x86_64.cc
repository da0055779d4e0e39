// SPDX-License-Identifier: Apache-2.0
// The code that the sites of probes call, when a function begins; the functions that it calls are in
// probe_hits_x86_64.cc.

// All general registers that a call may change are kept: callers in the same unit may know which ones a
// function leaves alone, and functions with conventions of their own use others. Its unwind table has the
// function's caller as its own: the site's code between the two has none.
asm(R"(
  .pushsection .text
  .hidden lagwatch_probe_entry
  .globl lagwatch_probe_entry
  .type lagwatch_probe_entry, @function
  .balign 64
lagwatch_probe_entry:
  .cfi_startproc
  .cfi_def_cfa rsp, 16
  sub $80, %rsp
  .cfi_escape 0x0f, 0x0f, 0x77, 0xd0, 0x00, 0x06, 0x08, 0x0e, 0x1c, 0x06, 0x23, 0x08, 0x06, 0x77, 0xe0, 0x00, 0x22
  mov %rdi, (%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  mov %rax, 48(%rsp)
  mov %r10, 56(%rsp)
  mov %r11, 64(%rsp)
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
  add $80, %rsp
  .cfi_def_cfa rsp, 16
  ret
  .cfi_endproc
  .size lagwatch_probe_entry, . - lagwatch_probe_entry
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
  .popsection
)");
