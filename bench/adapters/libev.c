/* SPDX-License-Identifier: Apache-2.0 */
#include <lagwatch/adapters/libev.h>

#include "rounds.h"

static long left;

static void Turn(EV_P_ ev_idle* idle, int events) {
  (void)events;
  if (--left <= 0) ev_idle_stop(EV_A_ idle);
}

static void Run(long dispatches) {
  static ev_idle idle;
  left = dispatches;
  ev_idle_init(&idle, &Turn);
  ev_idle_start(EV_DEFAULT_ & idle);
  ev_run(EV_DEFAULT_ 0);
}

int main(int count, char** arguments) {
  (void)count;
  if (rounds_start(arguments)) lw_ev_watch(EV_DEFAULT_ "main");
  return rounds_measure(&Run);
}
