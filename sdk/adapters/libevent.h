/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops of libevent: see epoll.h, which one file of the program gives the two functions that it
 * needs.
 *
 *   lw_event_watch(base, "main"); // on the thread that runs it, before it does */
#ifndef LAGWATCH_ADAPTERS_LIBEVENT_H_
#define LAGWATCH_ADAPTERS_LIBEVENT_H_

#include <event2/event.h>
#include <lagwatch/adapters/epoll.h>
#include <string.h>

/* Returns the loop; NULL if there are too many, or if `base` does not wait by epoll. To end it:
 * lw_epoll_unwatch(). */
static inline lw_loop* lw_event_watch(struct event_base* base, const char* name) {
  if (strncmp(event_base_get_method(base), "epoll", strlen("epoll")) != 0) return NULL;
  return lw_epoll_watch(-1, name);
}

#endif /* LAGWATCH_ADAPTERS_LIBEVENT_H_ */
