/* SPDX-License-Identifier: Apache-2.0 */
#define LW_EPOLL_IMPLEMENTATION
#include <lagwatch/adapters/libevent.h>

#include "rounds.h"

static struct event_base* base;
static struct event* timer;
static long left;

static void Turn(evutil_socket_t fd, short what, void* data) {
  const struct timeval now = {0, 0};
  (void)fd, (void)what, (void)data;
  if (--left > 0) event_add(timer, &now);
}

static void Run(long dispatches) {
  const struct timeval now = {0, 0};
  left = dispatches;
  event_add(timer, &now);
  event_base_dispatch(base);
}

int main(int count, char** arguments) {
  (void)count;
  base = event_base_new();
  timer = evtimer_new(base, &Turn, NULL);
  if (rounds_start(arguments)) lw_event_watch(base, "main");
  return rounds_measure(&Run);
}
