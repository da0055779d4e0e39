/* SPDX-License-Identifier: Apache-2.0 */
#define LW_EPOLL_IMPLEMENTATION
#include <lagwatch/adapters/libuv.h>

#include "rounds.h"

static long left;

/* The loop polls once for each call. */
static void Turn(uv_idle_t* idle) {
  if (--left <= 0) uv_idle_stop(idle);
}

static void Run(long dispatches) {
  static uv_idle_t idle;
  left = dispatches;
  uv_idle_init(uv_default_loop(), &idle);
  uv_idle_start(&idle, &Turn);
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

int main(int count, char** arguments) {
  (void)count;
  if (rounds_start(arguments)) lw_uv_watch(uv_default_loop(), "main");
  return rounds_measure(&Run);
}
