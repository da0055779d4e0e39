/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops that wait in epoll_wait() or epoll_pwait(): those of libuv and libevent, which offer no hook
 * that is called at the right moment, and loops of a program's own. One file of the program defines the two
 * functions, which call the C library's:
 *
 *   #define LW_EPOLL_IMPLEMENTATION
 *   #include <lagwatch/adapters/epoll.h>
 *
 * It belongs to the program itself, not to a library that it loads later. When the loop has returned, also
 * between turns that a program makes by hand: lw_loop_wait_begin() or lw_epoll_unwatch(), or all that follows
 * is a dispatch. */
#ifndef LAGWATCH_ADAPTERS_EPOLL_H_
#define LAGWATCH_ADAPTERS_EPOLL_H_

#include <lagwatch/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Watches the loop that waits in the epoll instance `descriptor`, of the calling thread; -1: the first
 * instance that the thread waits in from now on. Waits in others are part of a dispatch: a callback that asks
 * a server and waits for its answer hangs. A thread has one such loop. */
lw_loop* lw_epoll_watch(int descriptor, const char* name);
/* From the loop's thread. */
void lw_epoll_unwatch(void);

#ifdef __cplusplus
}
#endif

#endif /* LAGWATCH_ADAPTERS_EPOLL_H_ */

#if defined(LW_EPOLL_IMPLEMENTATION) && !defined(LAGWATCH_ADAPTERS_EPOLL_DEFINED_)
#define LAGWATCH_ADAPTERS_EPOLL_DEFINED_

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void*)-1L)
#endif
#ifdef __cplusplus
#define LW_EPOLL_THROWS noexcept(false)
extern "C" {
#else
#define LW_EPOLL_THROWS
#endif

typedef int (*lw_epoll_waiter)(int, struct epoll_event*, int, int);
typedef int (*lw_epoll_masked_waiter)(int, struct epoll_event*, int, int, const sigset_t*);
typedef int (*lw_epoll_timed_waiter)(int, struct epoll_event*, int, const struct timespec*, const sigset_t*);
enum { LW_EPOLL_MASK_BYTES = 8 }; /* of the kernel's own set of signals */

static __thread lw_loop* lw_epoll_loop;
static __thread int lw_epoll_descriptor;
static lw_epoll_waiter lw_next_epoll_wait;
static lw_epoll_masked_waiter lw_next_epoll_pwait;
static lw_epoll_timed_waiter lw_next_epoll_pwait2;

/* Before main(): to look a symbol up takes a lock. A static program finds none. */
__attribute__((constructor)) static void lw_epoll_find_next(void) {
  lw_next_epoll_wait = (lw_epoll_waiter)dlsym(RTLD_NEXT, "epoll_wait");
  lw_next_epoll_pwait = (lw_epoll_masked_waiter)dlsym(RTLD_NEXT, "epoll_pwait");
  lw_next_epoll_pwait2 = (lw_epoll_timed_waiter)dlsym(RTLD_NEXT, "epoll_pwait2");
}

lw_loop* lw_epoll_watch(int descriptor, const char* name) {
  if (lw_epoll_loop == NULL) lw_epoll_loop = lw_watch_loop(name);
  lw_epoll_descriptor = descriptor;
  return lw_epoll_loop;
}

void lw_epoll_unwatch(void) {
  if (lw_epoll_loop != NULL) lw_unwatch_loop(lw_epoll_loop);
  lw_epoll_loop = NULL;
}

/* The loop whose wait this is. NULL: it is another one's. */
static lw_loop* lw_epoll_loop_of(int descriptor) {
  if (lw_epoll_loop != NULL && lw_epoll_descriptor == -1) lw_epoll_descriptor = descriptor;
  return lw_epoll_descriptor == descriptor ? lw_epoll_loop : NULL;
}

static int lw_epoll_after(lw_loop* loop, int ready) {
  const int error = errno;
  lw_loop_wait_end(loop, NULL);
  errno = error;
  return ready;
}

__attribute__((visibility("default"))) int epoll_wait(int descriptor, struct epoll_event* events, int room,
                                                      int timeout_ms) LW_EPOLL_THROWS {
  lw_loop* loop = lw_epoll_loop_of(descriptor);
  int ready;
  if (lw_next_epoll_wait == NULL) lw_epoll_find_next(); /* another constructor was earlier */
  lw_loop_wait_begin(loop);
  ready = lw_next_epoll_wait != NULL ? lw_next_epoll_wait(descriptor, events, room, timeout_ms)
                                     : (int)syscall(SYS_epoll_pwait, descriptor, events, room, timeout_ms,
                                                    NULL, LW_EPOLL_MASK_BYTES);
  return lw_epoll_after(loop, ready);
}

__attribute__((visibility("default"))) int epoll_pwait(int descriptor, struct epoll_event* events, int room,
                                                       int timeout_ms, const sigset_t* mask) LW_EPOLL_THROWS {
  lw_loop* loop = lw_epoll_loop_of(descriptor);
  int ready;
  if (lw_next_epoll_pwait == NULL) lw_epoll_find_next();
  lw_loop_wait_begin(loop);
  ready = lw_next_epoll_pwait != NULL ? lw_next_epoll_pwait(descriptor, events, room, timeout_ms, mask)
                                      : (int)syscall(SYS_epoll_pwait, descriptor, events, room, timeout_ms,
                                                     mask, LW_EPOLL_MASK_BYTES);
  return lw_epoll_after(loop, ready);
}

#if defined(SYS_epoll_pwait2) && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)
__attribute__((visibility("default"))) int epoll_pwait2(int descriptor, struct epoll_event* events, int room,
                                                        const struct timespec* timeout,
                                                        const sigset_t* mask) LW_EPOLL_THROWS {
  lw_loop* loop = lw_epoll_loop_of(descriptor);
  int ready;
  if (lw_next_epoll_pwait2 == NULL) lw_epoll_find_next();
  lw_loop_wait_begin(loop);
  ready = lw_next_epoll_pwait2 != NULL
              ? lw_next_epoll_pwait2(descriptor, events, room, timeout, mask)
              : (int)syscall(SYS_epoll_pwait2, descriptor, events, room, timeout, mask, LW_EPOLL_MASK_BYTES);
  return lw_epoll_after(loop, ready);
}
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif
#undef LW_EPOLL_THROWS

#endif
