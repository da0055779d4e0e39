/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of libev with a timer's function that blocks it. */
#include <lagwatch/adapters/libev.h>
#include <unistd.h>

static void OnTimer(struct ev_loop* loop, ev_timer* timer, int events) {
  (void)loop, (void)timer, (void)events;
  usleep(3000000);
}

int main(void) {
  lw_options options;
  lw_options_init(&options);
  options.app = "libev-sample";
  lw_start(&options);
  struct ev_loop* loop = EV_DEFAULT;
  lw_ev_watch(loop, "main");
  ev_timer timer;
  ev_timer_init(&timer, &OnTimer, 0.1, 0.);
  ev_timer_start(loop, &timer);
  ev_run(loop, 0);
  lw_stop(0);
  return 0;
}
