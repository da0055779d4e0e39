/* SPDX-License-Identifier: Apache-2.0 */
#include <lagwatch/adapters/sd_event.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "-")
PLANTED(HangInReader, "-")
PLANTED(HangInDeferred, "-")

static int ends[2];

static int OnTimer(sd_event_source* source, uint64_t us, void* data) {
  (void)source, (void)us, (void)data;
  HangInTimer();
  return 0;
}
static int OnReadable(sd_event_source* source, int fd, uint32_t events, void* data) {
  (void)fd, (void)events, (void)data;
  sd_event_source_set_enabled(source, SD_EVENT_OFF);
  HangInReader();
  return 0;
}
static int Write(sd_event_source* source, uint64_t us, void* data) {
  (void)source, (void)us, (void)data;
  return write(ends[1], "x", 1) == 1 ? 0 : -1;
}
static int OnDeferred(sd_event_source* source, void* data) {
  (void)source, (void)data;
  HangInDeferred();
  return 0;
}
static int Defer(sd_event_source* source, uint64_t us, void* data) {
  (void)us, (void)data;
  return sd_event_add_defer(sd_event_source_get_event(source), NULL, &OnDeferred, NULL);
}
/* Never idle for longer than the threshold: each turn is short. */
static int Spin(sd_event_source* source, void* data) {
  static int turns;
  (void)data;
  planted_sleep_ms(10);
  if (++turns < 60) return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
  return 0;
}
static int StartSpinning(sd_event_source* source, uint64_t us, void* data) {
  (void)us, (void)data;
  return sd_event_add_defer(sd_event_source_get_event(source), NULL, &Spin, NULL);
}
static int Quit(sd_event_source* source, uint64_t us, void* data) {
  (void)us, (void)data;
  return sd_event_exit(sd_event_source_get_event(source), 7);
}

static void After(sd_event* event, uint64_t ms, sd_event_time_handler_t handler) {
  sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, ms * 1000, 0, handler, NULL);
}

int main(int count, char** arguments) {
  sd_event* event = NULL;
  int code;
  planted_start(count, arguments);
  if (sd_event_new(&event) < 0 || pipe(ends) != 0) return 1;
  sd_event_add_io(event, NULL, ends[0], EPOLLIN, &OnReadable, NULL);
  After(event, 100, &OnTimer);
  After(event, 1200, &Write);
  After(event, 2400, &Defer);
  After(event, 3600, &StartSpinning);
  After(event, 5000, &Quit);
  code = lw_sd_event_loop(event, lw_watch_loop("main"));
  sd_event_unref(event);
  planted_sleep_ms(500); /* no hang: the loop has ended */
  lw_stop(0);
  return code == 7 ? 0 : 1;
}
