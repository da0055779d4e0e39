/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops of sd-event, which is systemd's: one call in the place of sd_event_loop() or sd_event_run().
 *
 *   lw_loop* loop = lw_watch_loop("main");
 *   return lw_sd_event_loop(event, loop); */
#ifndef LAGWATCH_ADAPTERS_SD_EVENT_H_
#define LAGWATCH_ADAPTERS_SD_EVENT_H_

#include <errno.h>
#include <lagwatch/c.h>
#include <systemd/sd-event.h>

/* As sd_event_run(), on the thread that watches `loop`. */
static inline int lw_sd_event_run(sd_event* event, uint64_t timeout_us, lw_loop* loop) {
  int result = sd_event_prepare(event);
  if (result > 0) lw_loop_turn(loop, NULL); /* it is ready without a wait */
  if (result == 0) {
    lw_loop_wait_begin(loop);
    result = sd_event_wait(event, timeout_us);
    lw_loop_wait_end(loop, NULL);
  }
  if (result <= 0) return result;
  result = sd_event_dispatch(event);
  return result < 0 ? result : 1;
}

/* As sd_event_loop(). */
static inline int lw_sd_event_loop(sd_event* event, lw_loop* loop) {
  int result = 0;
  int code = 0;
  sd_event_ref(event); /* a callback may give the last one up */
  while (result >= 0 && sd_event_get_state(event) != SD_EVENT_FINISHED)
    result = lw_sd_event_run(event, UINT64_MAX, loop);
  lw_loop_wait_begin(loop); /* nothing is under way any more */
  if (result >= 0) result = sd_event_get_exit_code(event, &code);
  sd_event_unref(event);
  return result < 0 ? result : code;
}

#endif /* LAGWATCH_ADAPTERS_SD_EVENT_H_ */
