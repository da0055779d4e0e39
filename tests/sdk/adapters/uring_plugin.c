/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that brings liburing; it waits once. */
#include <liburing.h>

__attribute__((visibility("default"))) int wait_once(void);
int wait_once(void) {
  struct io_uring ring;
  struct __kernel_timespec pause_time = {0, 1000000};
  int submitted;
  if (io_uring_queue_init(4, &ring, 0) < 0) return 77; /* the kernel refuses them */
  io_uring_prep_timeout(io_uring_get_sqe(&ring), &pause_time, 0, 0);
  submitted = io_uring_submit_and_wait(&ring, 1);
  io_uring_queue_exit(&ring);
  return submitted == 1 ? 0 : 1;
}
