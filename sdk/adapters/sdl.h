/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops of SDL 2 and 3 that wait for events; include SDL's header first. A game's loop that never
 * waits has frames: see lw_frame_begin().
 *
 *   while (lw_sdl_wait_event(loop, &event)) Handle(&event); // as SDL_WaitEvent()
 *
 * When the loop has ended: lw_loop_wait_begin() or lw_unwatch_loop(), or all that follows is a dispatch.
 * SDL's own watch of events is called when an event is put into the queue, not when it is handled. */
#ifndef LAGWATCH_ADAPTERS_SDL_H_
#define LAGWATCH_ADAPTERS_SDL_H_

#include <lagwatch/c.h>

/* As SDL_WaitEvent(), on the thread that watches `loop`. */
static inline int lw_sdl_wait_event(lw_loop* loop, SDL_Event* event) {
  int has_event;
  lw_loop_wait_begin(loop);
  has_event = SDL_WaitEvent(event);
  lw_loop_wait_end(loop, NULL);
  return has_event;
}

/* As SDL_WaitEventTimeout(). */
static inline int lw_sdl_wait_event_timeout(lw_loop* loop, SDL_Event* event, int timeout_ms) {
  int has_event;
  lw_loop_wait_begin(loop);
  has_event = SDL_WaitEventTimeout(event, timeout_ms);
  lw_loop_wait_end(loop, NULL);
  return has_event;
}

#endif /* LAGWATCH_ADAPTERS_SDL_H_ */
