/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of fibers (ucontext, Boost.Context, libco or a switch of one's own). That of one that runs goes on
 * with the function that has resumed it: for reports, and for debuggers. Without it a fiber's stack ends at
 * its first function. Reports list fibers that are suspended among the threads.
 *
 * One file of the program defines LW_FIBER_IMPLEMENTATION before it includes this. A fiber's first function
 * calls lw_fiber_enter(); the function that switches to a fiber calls lw_fiber_mark() right before, and the
 * one by which a fiber switches away calls lw_fiber_suspend(). */
#ifndef LAGWATCH_ADAPTERS_FIBER_X86_64_H_
#define LAGWATCH_ADAPTERS_FIBER_X86_64_H_

#include <lagwatch/c.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Must stay as long as the fiber. The registers are rip, rsp, rbp, rbx, r12 to r15. */
typedef struct lw_fiber {
  uint64_t resumer[8];   /* with which the resumer goes on; rip and rsp are 0 while the fiber is suspended */
  uint64_t suspended[8]; /* with which the fiber goes on; rip is 0 while it runs */
  uint64_t number;       /* 0: not in the table */
  uint64_t top;          /* of its stack */
} lw_fiber;

/* The calling function resumes the fiber now. Hot: nine stores. */
void lw_fiber_mark(lw_fiber* fiber) LW_NOEXCEPT;
/* The calling function, in the fiber, switches away from it now. Hot: ten stores. Reports do not list fibers
 * that switch away without it. */
void lw_fiber_suspend(lw_fiber* fiber) LW_NOEXCEPT;
/* Calls `function`, whose frames have those of the resumer below them. No exception may leave it: it would
 * look for its handler there. About 1,000 fibers are known at a time: others are not listed. */
void lw_fiber_enter(lw_fiber* fiber, void (*function)(void* argument), void* argument);
/* Takes a fiber that is suspended, and will not be resumed, from the table before its memory is freed. */
void lw_fiber_forget(lw_fiber* fiber) LW_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LAGWATCH_ADAPTERS_FIBER_X86_64_H_ */

#if defined(LW_FIBER_IMPLEMENTATION) && !defined(LAGWATCH_ADAPTERS_FIBER_DEFINED_)
#define LAGWATCH_ADAPTERS_FIBER_DEFINED_

#ifdef __cplusplus
extern "C" {
#endif

#define LW_FIBERS 1024
#define LW_FIBER_TRIES 64

/* lagwatch reads it by its name, which a program that is not linked with lagwatch has to export. */
struct lw_fiber_table {
  uint64_t version;
  void (*join)(lw_fiber* fiber, void (*function)(void* argument), void* argument);
  uint64_t last_number;
  lw_fiber* fibers[LW_FIBERS];
};
extern struct lw_fiber_table lw_fiber_known;
void lw_fiber_join(lw_fiber* fiber, void (*function)(void* argument), void* argument);
struct lw_fiber_table lw_fiber_known = {1, &lw_fiber_join, 0, {0}};

/* A program that has the header alone is not linked with it. */
#pragma weak lw_register_functions

/* Wait-free. A table that is nearly full takes no more. */
static void lw_fiber_note(lw_fiber* fiber) {
  const uint64_t number = __atomic_add_fetch(&lw_fiber_known.last_number, 1, __ATOMIC_RELAXED);
  if (number == 1 && lw_register_functions) {
    const lw_function table = {"lw_fiber_known", (void (*)(void))(uintptr_t)&lw_fiber_known};
    lw_register_functions(&table, 1);
  }
  fiber->number = number;
  for (uint64_t i = 0; i < LW_FIBER_TRIES; ++i) {
    lw_fiber* none = 0;
    if (__atomic_compare_exchange_n(&lw_fiber_known.fibers[(number + i) % LW_FIBERS], &none, fiber, 0,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
  fiber->number = 0;
}

void lw_fiber_forget(lw_fiber* fiber) LW_NOEXCEPT {
  for (uint64_t i = 0; fiber->number != 0 && i < LW_FIBER_TRIES; ++i) {
    lw_fiber* found = fiber;
    if (__atomic_compare_exchange_n(&lw_fiber_known.fibers[(fiber->number + i) % LW_FIBERS], &found,
                                    (lw_fiber*)0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      fiber->number = 0;
  }
}

void lw_fiber_enter(lw_fiber* fiber, void (*function)(void* argument), void* argument) {
  fiber->top = (uint64_t)(uintptr_t)__builtin_frame_address(0);
  lw_fiber_note(fiber);
  lw_fiber_join(fiber, function, argument);
  lw_fiber_forget(fiber);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

/* lw_fiber_join keeps the fiber's address on top of its stack. The escapes say by DWARF's expressions that
 * the caller's stack pointer is in that structure's second word, and the caller's registers are in the
 * others. */
__asm__(
    ".pushsection .text\n"
    ".globl lw_fiber_mark\n"
    ".type lw_fiber_mark, @function\n"
    "lw_fiber_mark:\n"
    ".cfi_startproc\n"
    "  movq $0, 64(%rdi)\n"
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
    ".globl lw_fiber_suspend\n"
    ".type lw_fiber_suspend, @function\n"
    "lw_fiber_suspend:\n"
    ".cfi_startproc\n"
    "  lea 8(%rsp), %rax\n"
    "  mov %rax, 72(%rdi)\n"
    "  mov %rbp, 80(%rdi)\n"
    "  mov %rbx, 88(%rdi)\n"
    "  mov %r12, 96(%rdi)\n"
    "  mov %r13, 104(%rdi)\n"
    "  mov %r14, 112(%rdi)\n"
    "  mov %r15, 120(%rdi)\n"
    "  movq $0, 0(%rdi)\n" /* its stack ends at its first function: the resumer goes on without it */
    "  movq $0, 8(%rdi)\n"
    "  mov (%rsp), %rax\n"
    "  mov %rax, 64(%rdi)\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size lw_fiber_suspend, .-lw_fiber_suspend\n"
    ".globl lw_fiber_join\n"
    ".type lw_fiber_join, @function\n"
    "lw_fiber_join:\n"
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
    ".size lw_fiber_join, .-lw_fiber_join\n"
    ".popsection\n");

#endif
