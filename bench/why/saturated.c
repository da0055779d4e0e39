// SPDX-License-Identifier: Apache-2.0
// A server that has always something to do: its wait never sleeps, and each of its requests is short.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile unsigned long sink;

static void Serve(int descriptor) {
  unsigned long count;
  if (read(descriptor, &count, sizeof count) < 0) return;
  for (int i = 0; i < 200000; ++i) sink += (unsigned long)i;
  count = 1;
  if (write(descriptor, &count, sizeof count) < 0) return;
}

int main(void) {
  const int loop = epoll_create1(0);
  const int descriptor = eventfd(1, 0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
  epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);
  for (;;) {
    if (epoll_wait(loop, &event, 1, -1) == 1) Serve(event.data.fd);
  }
}
