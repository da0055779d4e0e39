/* SPDX-License-Identifier: Apache-2.0 */
/* A server of fibers: each request has a fiber of its own, which waits for its descriptor in the loop. */
#define _GNU_SOURCE
#define LW_FIBER_IMPLEMENTATION
#include <lagwatch/adapters/fiber_x86_64.h>
#include <lagwatch/c.h>
#include <sys/epoll.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/sdk/adapters/planted.h"

enum { STACK_BYTES = 64 * 1024, FIBERS = 4 };

typedef struct Fiber {
  const char* tag;
  void (*serve)(struct Fiber*);
  ucontext_t context, resumer;
  lw_fiber frames;
  int ends[2];
  int is_over;
} Fiber;

static int poller;
static lw_loop* loop;

/* "FUNCTION<RESUMER": the stack has both. "&OTHER": in a fiber that is suspended meanwhile. */
#define HANGS_IN(name, resumer, tag)                 \
  static __attribute__((noinline)) void name(void) { \
    planted_tell(#name "<" #resumer, tag);           \
    planted_sleep_ms(PLANTED_MS);                    \
    __asm__ volatile("");                            \
  }
HANGS_IN(HangAtFirst, Resume, "first")
HANGS_IN(HangAfterAWait, Resume&ServeLong, "late")
HANGS_IN(HangInAFiberOfAFiber, ServeByAnother&ServeLong, "other")

static void WaitForByte(Fiber* fiber) {
  char byte;
  lw_fiber_suspend(&fiber->frames);
  swapcontext(&fiber->context, &fiber->resumer);
  if (read(fiber->ends[0], &byte, 1) != 1) exit(3);
}

static __attribute__((noinline)) void Resume(Fiber* fiber) {
  lw_fiber_mark(&fiber->frames);
  swapcontext(&fiber->resumer, &fiber->context);
  __asm__ volatile("");
}

static void Serve(void* fiber) { ((Fiber*)fiber)->serve(fiber); }

static void Start(unsigned low, unsigned high) {
  Fiber* fiber = (Fiber*)(((uintptr_t)high << 32) | low);
  lw_fiber_enter(&fiber->frames, &Serve, fiber);
  fiber->is_over = 1;
}

static void Create(Fiber* fiber, const char* tag, void (*serve)(Fiber*)) {
  fiber->tag = tag;
  fiber->serve = serve;
  fiber->is_over = 0;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = malloc(STACK_BYTES);
  fiber->context.uc_stack.ss_size = STACK_BYTES;
  fiber->context.uc_link = &fiber->resumer;
  makecontext(&fiber->context, (void (*)(void)) & Start, 2, (unsigned)(uintptr_t)fiber,
              (unsigned)((uintptr_t)fiber >> 32));
}

static void ServeFirst(Fiber* fiber) {
  HangAtFirst();
  WaitForByte(fiber);
}
static void ServeLate(Fiber* fiber) {
  WaitForByte(fiber);
  HangAfterAWait();
}
static void ServeInner(Fiber* fiber) {
  (void)fiber;
  HangInAFiberOfAFiber();
}
static __attribute__((noinline)) void ServeByAnother(Fiber* fiber) {
  Fiber inner;
  WaitForByte(fiber);
  Create(&inner, "inner", &ServeInner);
  lw_fiber_mark(&inner.frames);
  swapcontext(&inner.resumer, &inner.context);
  free(inner.context.uc_stack.ss_sp);
}
/* Waits for longer than the threshold, more than once. */
static void ServeLong(Fiber* fiber) {
  for (int i = 0; i < 3; ++i) WaitForByte(fiber);
}

static void RunLoop(int* waiting) {
  while (*waiting > 0) {
    struct epoll_event event;
    Fiber* fiber;
    lw_loop_wait_begin(loop);
    if (epoll_wait(poller, &event, 1, -1) != 1) exit(4);
    fiber = event.data.ptr;
    lw_loop_wait_end(loop, fiber->tag);
    Resume(fiber);
    if (fiber->is_over) --*waiting;
  }
  lw_loop_wait_begin(loop);
}

int main(int count, char** arguments) {
  static Fiber fibers[FIBERS];
  static void (*const serve[FIBERS])(Fiber*) = {&ServeFirst, &ServeLate, &ServeByAnother, &ServeLong};
  static const char* const tags[FIBERS] = {"first", "late", "other", "long"};
  int waiting = FIBERS;
  planted_start(count, arguments);
  loop = lw_watch_loop("fibers");
  poller = epoll_create1(0);
  for (int i = 0; i < FIBERS; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &fibers[i]};
    /* An earlier one in the same memory, which was not resumed to its end, and not forgotten. */
    Create(&fibers[i], "earlier", &ServeLong);
    Resume(&fibers[i]);
    free(fibers[i].context.uc_stack.ss_sp);
    Create(&fibers[i], tags[i], serve[i]);
    if (pipe(fibers[i].ends) != 0 || epoll_ctl(poller, EPOLL_CTL_ADD, fibers[i].ends[0], &event) != 0)
      return 2;
    lw_loop_turn(loop, tags[i]);
    Resume(&fibers[i]);
  }
  if (fork() == 0) { /* the client */
    for (int i = 0; i < FIBERS; ++i) {
      if (write(fibers[i].ends[1], "x", 1) != 1) _exit(1);
      planted_sleep_ms(300);
    }
    for (int i = 0; i < 2; ++i) {
      planted_sleep_ms(500);
      if (write(fibers[FIBERS - 1].ends[1], "x", 1) != 1) _exit(1);
    }
    _exit(0);
  }
  RunLoop(&waiting);
  lw_stop(0);
  return 0;
}
