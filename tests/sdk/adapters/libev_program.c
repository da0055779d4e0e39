/* SPDX-License-Identifier: Apache-2.0 */
#include <lagwatch/adapters/libev.h>
#include <unistd.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "-")
PLANTED(HangInReader, "-")
PLANTED(HangInNestedRun, "-")
PLANTED(HangAfterNestedRun, "-")

static int ends[2];

static void OnTimer(EV_P_ ev_timer* timer, int events) {
  (void)EV_A, (void)timer, (void)events;
  HangInTimer();
}
static void OnReadable(EV_P_ ev_io* io, int events) {
  (void)events;
  ev_io_stop(EV_A_ io);
  HangInReader();
}
static void Write(EV_P_ ev_timer* timer, int events) {
  (void)EV_A, (void)timer, (void)events;
  if (write(ends[1], "x", 1) != 1) abort();
}
static void InNestedRun(EV_P_ ev_timer* timer, int events) {
  (void)EV_A, (void)timer, (void)events;
  HangInNestedRun();
}
static void EndNestedRun(EV_P_ ev_timer* timer, int events) {
  (void)timer, (void)events;
  ev_break(EV_A_ EVBREAK_ONE);
}
static void RunNested(EV_P_ ev_timer* timer, int events) {
  static ev_timer inner;
  static ev_timer end;
  (void)timer, (void)events;
  ev_timer_init(&inner, &InNestedRun, 0.7, 0.);
  ev_timer_start(EV_A_ & inner);
  ev_timer_init(&end, &EndNestedRun, 1.6, 0.);
  ev_timer_start(EV_A_ & end);
  ev_run(EV_A_ 0);
  HangAfterNestedRun();
}
static void Quit(EV_P_ ev_timer* timer, int events) {
  (void)timer, (void)events;
  ev_break(EV_A_ EVBREAK_ALL);
}

typedef void (*on_timer)(EV_P_ ev_timer*, int);
static void After(EV_P_ double seconds, on_timer callback) {
  ev_timer* timer = malloc(sizeof *timer);
  ev_timer_init(timer, callback, seconds, 0.);
  ev_timer_start(EV_A_ timer);
}

int main(int count, char** arguments) {
  struct ev_loop* loop = EV_DEFAULT;
  static ev_io reader;
  planted_start(count, arguments);
  lw_ev_watch(EV_A_ "main");
  if (pipe(ends) != 0) return 1;
  ev_io_init(&reader, &OnReadable, ends[0], EV_READ);
  ev_io_start(EV_A_ & reader);
  After(EV_A_ 0.1, &OnTimer);
  After(EV_A_ 1.2, &Write);
  After(EV_A_ 2.4, &RunNested);
  After(EV_A_ 5.2, &Quit);
  ev_run(EV_A_ 0);
  lw_ev_unwatch(EV_A);
  lw_stop(0);
  return 0;
}
