/* SPDX-License-Identifier: Apache-2.0 */
#include <lagwatch/adapters/sd_event.h>

#include "rounds.h"

static sd_event* event;
static sd_event_source* deferred;
static lw_loop* loop;
static long left;

static int Turn(sd_event_source* source, void* data) {
  (void)data;
  if (--left <= 0) sd_event_source_set_enabled(source, SD_EVENT_OFF);
  return 0;
}

static void Run(long dispatches) {
  left = dispatches;
  sd_event_source_set_enabled(deferred, SD_EVENT_ON);
  while (left > 0) {
    if (loop != NULL)
      lw_sd_event_run(event, UINT64_MAX, loop);
    else
      sd_event_run(event, UINT64_MAX);
  }
}

int main(int count, char** arguments) {
  (void)count;
  sd_event_new(&event);
  sd_event_add_defer(event, &deferred, &Turn, NULL);
  if (rounds_start(arguments)) loop = lw_watch_loop("main");
  return rounds_measure(&Run);
}
