/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that waits by liburing, in three ways; it knows nothing of lagwatch: run by `lagwatch run`. */
#include <liburing.h>

#define PLANTED_HANG_MS 350
#include "tests/sdk/adapters/planted.h"

PLANTED(HangAfterWait, "io_uring_enter")
PLANTED(HangAfterTimedWait, "io_uring_enter")
PLANTED(HangAfterSubmit, "io_uring_enter")

static struct io_uring ring;
static struct __kernel_timespec pause_time = {0, 10000000};

static void Submit(void) { io_uring_prep_timeout(io_uring_get_sqe(&ring), &pause_time, 0, 0); }

static void Take(struct io_uring_cqe* done) {
  if (done == NULL && io_uring_peek_cqe(&ring, &done) != 0) abort();
  io_uring_cqe_seen(&ring, done);
}

/* A turn of the loop. */
static void Wait(int way) {
  struct __kernel_timespec limit = {5, 0};
  struct io_uring_cqe* done = NULL;
  Submit();
  if (way == 2) {
    io_uring_submit_and_wait(&ring, 1);
  } else {
    io_uring_submit(&ring);
    if (way == 0) io_uring_wait_cqe(&ring, &done);
    if (way == 1) io_uring_wait_cqe_timeout(&ring, &done, &limit);
  }
  Take(done);
}

int main(void) {
  static void (*const hangs[])(void) = {&HangAfterWait, &HangAfterTimedWait, &HangAfterSubmit};
  if (io_uring_queue_init(8, &ring, 0) < 0) return 77; /* the kernel refuses them */
  for (int i = 0; i < 80; ++i) Wait(i % 3);
  for (int way = 0; way < 3; ++way) {
    Wait(way);
    hangs[way]();
    Wait(way);
  }
  io_uring_queue_exit(&ring);
  return 0;
}
