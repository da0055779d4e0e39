/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops of libuv: see epoll.h, which one file of the program gives the two functions that it needs.
 * Between libuv's own hooks, prepare and check, most of the callbacks run.
 *
 *   lw_uv_watch(uv_default_loop(), "main"); // on the thread that runs it */
#ifndef LAGWATCH_ADAPTERS_LIBUV_H_
#define LAGWATCH_ADAPTERS_LIBUV_H_

#include <lagwatch/adapters/epoll.h>
#include <uv.h>

/* Returns the loop; NULL if there are too many. To end it: lw_epoll_unwatch(). */
static inline lw_loop* lw_uv_watch(uv_loop_t* loop, const char* name) {
  return lw_epoll_watch(uv_backend_fd(loop), name);
}

#endif /* LAGWATCH_ADAPTERS_LIBUV_H_ */
