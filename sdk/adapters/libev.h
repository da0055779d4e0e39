/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops of libev.
 *
 *   lw_ev_watch(EV_DEFAULT_ "main"); // on the thread that runs it
 *
 * When the loop has returned: lw_ev_unwatch(), or all that follows is a dispatch. Takes the loop's pair of
 * release callbacks, ev_set_loop_release_cb(), which has room for one: a program that locks there calls
 * lw_loop_wait_begin() and lw_loop_wait_end() in its own instead. */
#ifndef LAGWATCH_ADAPTERS_LIBEV_H_
#define LAGWATCH_ADAPTERS_LIBEV_H_

#include <ev.h>
#include <lagwatch/c.h>
#include <stddef.h>

/* One in the program or library, whichever files include this. */
__attribute__((weak, visibility("hidden"))) __thread lw_loop* lw_ev_this_thread;

static inline void lw_ev_release(EV_P) EV_NOEXCEPT {
  (void)EV_A;
  lw_loop_wait_begin(lw_ev_this_thread);
}

static inline void lw_ev_acquire(EV_P) EV_NOEXCEPT {
  (void)EV_A;
  lw_loop_wait_end(lw_ev_this_thread, NULL);
}

/* Watches the loop, which the calling thread runs. A thread has one such loop. Returns it; NULL if there are
 * too many. */
static inline lw_loop* lw_ev_watch(EV_P_ const char* name) {
  if (lw_ev_this_thread == NULL) lw_ev_this_thread = lw_watch_loop(name);
  ev_set_loop_release_cb(EV_A_ & lw_ev_release, &lw_ev_acquire);
  return lw_ev_this_thread;
}

/* From the loop's thread. */
static inline void lw_ev_unwatch(EV_P) {
  ev_set_loop_release_cb(EV_A_ NULL, NULL);
  if (lw_ev_this_thread != NULL) lw_unwatch_loop(lw_ev_this_thread);
  lw_ev_this_thread = NULL;
}

#endif /* LAGWATCH_ADAPTERS_LIBEV_H_ */
