/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of fibers (ucontext, Boost.Context, libco or a switch of one's own) that go on with the function
 * that has resumed the fiber: for reports, and for debuggers. Without it a fiber's stack ends at its first
 * function.
 *
 * One file of the program defines LW_FIBER_IMPLEMENTATION before it includes this. A fiber's first function
 * calls lw_fiber_enter(); the function that switches to a fiber calls lw_fiber_mark() right before. */
#ifndef LAGWATCH_ADAPTERS_FIBER_X86_64_H_
#define LAGWATCH_ADAPTERS_FIBER_X86_64_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define LW_FIBER_NOEXCEPT noexcept
#else
#define LW_FIBER_NOEXCEPT
#endif

/* The registers with which the resumer goes on, as unwinders need them: rip, rsp, rbp, rbx, r12 to r15. Must
 * stay as long as the fiber. */
typedef struct lw_fiber {
  uint64_t registers[8];
} lw_fiber;

/* The calling function resumes the fiber now. Hot: eight stores. */
void lw_fiber_mark(lw_fiber* fiber) LW_FIBER_NOEXCEPT;
/* Calls `function`, whose frames have those of the resumer below them. No exception may leave it: it would
 * look for its handler there. */
void lw_fiber_enter(const lw_fiber* fiber, void (*function)(void* argument), void* argument);

#ifdef __cplusplus
} /* extern "C" */
#endif
#undef LW_FIBER_NOEXCEPT

#endif /* LAGWATCH_ADAPTERS_FIBER_X86_64_H_ */

#if defined(LW_FIBER_IMPLEMENTATION) && !defined(LAGWATCH_ADAPTERS_FIBER_DEFINED_)
#define LAGWATCH_ADAPTERS_FIBER_DEFINED_

/* lw_fiber_enter keeps the fiber's address on top of its stack. The escapes say by DWARF's expressions that
 * the caller's stack pointer is in that structure's second word, and the caller's registers are in the
 * others. */
__asm__(
    ".pushsection .text\n"
    ".globl lw_fiber_mark\n"
    ".type lw_fiber_mark, @function\n"
    "lw_fiber_mark:\n"
    ".cfi_startproc\n"
    "  mov (%rsp), %rax\n"
    "  mov %rax, 0(%rdi)\n"
    "  lea 8(%rsp), %rax\n"
    "  mov %rax, 8(%rdi)\n"
    "  mov %rbp, 16(%rdi)\n"
    "  mov %rbx, 24(%rdi)\n"
    "  mov %r12, 32(%rdi)\n"
    "  mov %r13, 40(%rdi)\n"
    "  mov %r14, 48(%rdi)\n"
    "  mov %r15, 56(%rdi)\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size lw_fiber_mark, .-lw_fiber_mark\n"
    ".globl lw_fiber_enter\n"
    ".type lw_fiber_enter, @function\n"
    "lw_fiber_enter:\n"
    ".cfi_startproc\n"
    "  push %rdi\n"
    ".cfi_adjust_cfa_offset 8\n"
    ".cfi_remember_state\n"
    ".cfi_escape 0x0f, 6, 0x77, 0, 0x06, 0x23, 8, 0x06\n" /* CFA = *(*rsp + 8) */
    ".cfi_escape 0x10, 16, 3, 0x77, 0, 0x06\n"            /* the return address is at *rsp */
    ".cfi_escape 0x10, 6, 5, 0x77, 0, 0x06, 0x23, 16\n"   /* rbp */
    ".cfi_escape 0x10, 3, 5, 0x77, 0, 0x06, 0x23, 24\n"   /* rbx */
    ".cfi_escape 0x10, 12, 5, 0x77, 0, 0x06, 0x23, 32\n"  /* r12 to r15 */
    ".cfi_escape 0x10, 13, 5, 0x77, 0, 0x06, 0x23, 40\n"
    ".cfi_escape 0x10, 14, 5, 0x77, 0, 0x06, 0x23, 48\n"
    ".cfi_escape 0x10, 15, 5, 0x77, 0, 0x06, 0x23, 56\n"
    "  mov %rdx, %rdi\n"
    "  call *%rsi\n"
    ".cfi_restore_state\n"
    "  add $8, %rsp\n"
    ".cfi_adjust_cfa_offset -8\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size lw_fiber_enter, .-lw_fiber_enter\n"
    ".popsection\n");

#endif
