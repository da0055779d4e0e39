/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of libevent with a timer's function that blocks it. */
#define LW_EPOLL_IMPLEMENTATION
#include <lagwatch/adapters/libevent.h>

static void OnTimer(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  usleep(3000000);
}

int main(void) {
  lw_options options;
  lw_options_init(&options);
  options.app = "libevent-sample";
  lw_start(&options);
  struct event_base* base = event_base_new();
  lw_event_watch(base, "main");
  struct timeval soon = {0, 100000};
  event_base_once(base, -1, EV_TIMEOUT, &OnTimer, NULL, &soon);
  event_base_dispatch(base);
  event_base_free(base);
  lw_stop(0);
  return 0;
}
