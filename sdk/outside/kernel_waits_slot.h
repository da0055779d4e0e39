/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the programs in kernel_waits.bpf.c share with the watchers: C, for both. */
#ifndef LAGWATCH_SDK_OUTSIDE_KERNEL_WAITS_SLOT_H_
#define LAGWATCH_SDK_OUTSIDE_KERNEL_WAITS_SLOT_H_

#define LAGWATCH_WAIT_SLOTS 8192 /* a thread has the one of its id's remainder */
#define LAGWATCH_LONG_DISPATCHES 16
#define LAGWATCH_LONG_NS 5000000 /* a longer dispatch is kept */

/* Times are of CLOCK_MONOTONIC, in ns. */
struct lagwatch_long_dispatch {
  unsigned long long begin_ns;
  unsigned long long end_ns;
};

/* The calls in which loops wait, and the word by which those of one loop are known. */
enum lagwatch_wait_kind {
  LAGWATCH_NO_WAIT = 0,
  LAGWATCH_EPOLL_WAIT = 1,  /* the epoll's descriptor */
  LAGWATCH_POLL_WAIT = 2,   /* the first descriptor; -1 without one */
  LAGWATCH_SELECT_WAIT = 3, /* the limit of the descriptors */
};

/* A thread that has a loop. The watcher writes the first three, the thread itself, in the kernel, the rest.
 */
struct lagwatch_wait_slot {
  unsigned int tid;       /* 0: free */
  unsigned int home_kind; /* of the loop's wait */
  long long home_word;
  /* Twice the time at which the thread entered the loop's wait, plus 1, or left it; 0: neither yet. */
  unsigned long long turn;
  /* Whether the loop's wait was interrupted last so that it may go on, as restart_syscall. */
  unsigned long long is_interrupted;
  unsigned long long long_count; /* of all long dispatches; the last ones are kept */
  struct lagwatch_long_dispatch kept[LAGWATCH_LONG_DISPATCHES];
};

#endif
