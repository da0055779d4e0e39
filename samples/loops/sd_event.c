/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of sd-event with a deferred function that blocks it. */
#include <lagwatch/adapters/sd_event.h>
#include <unistd.h>

static int OnDeferred(sd_event_source* source, void* data) {
  (void)data;
  usleep(3000000);
  return sd_event_exit(sd_event_source_get_event(source), 0);
}

int main(void) {
  lw_options options;
  lw_options_init(&options);
  options.app = "sd-event-sample";
  lw_start(&options);
  sd_event* event = NULL;
  sd_event_default(&event);
  sd_event_add_defer(event, NULL, &OnDeferred, NULL);
  const int result = lw_sd_event_loop(event, lw_watch_loop("main"));
  sd_event_unref(event);
  lw_stop(0);
  return result;
}
