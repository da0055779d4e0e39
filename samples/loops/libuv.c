/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of libuv with a timer's function that blocks it. */
#define LW_EPOLL_IMPLEMENTATION
#include <lagwatch/adapters/libuv.h>

static void OnTimer(uv_timer_t* timer) {
  (void)timer;
  uv_sleep(3000);
}

int main(void) {
  lw_options options;
  lw_options_init(&options);
  options.app = "libuv-sample";
  lw_start(&options);
  lw_uv_watch(uv_default_loop(), "main");
  uv_timer_t timer;
  uv_timer_init(uv_default_loop(), &timer);
  uv_timer_start(&timer, &OnTimer, 1, 0);
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  lw_stop(0);
  return 0;
}
