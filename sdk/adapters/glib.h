/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the loops of GLib, and so those of GTK 3 and 4. Header only: needs GLib's headers, and lagwatch
 * needs no GLib.
 *
 *   lw_start(&options);
 *   lw_glib_watch(NULL, "ui"); // on the thread that runs the loop, before it does
 *
 * A wait is the call of the context's poll function, which nested loops make too: a dialog is no hang. The
 * time after it is a dispatch; each source with a callback is one of its own, with the source's name as its
 * tag, or else its function; one without a callback, as GDK's for events, has no tag. A callback that goes on
 * after a nested loop is a dispatch of its own, with its tag. When the loop has returned: lw_glib_unwatch(),
 * or all that follows is a dispatch. */
#ifndef LAGWATCH_ADAPTERS_GLIB_H_
#define LAGWATCH_ADAPTERS_GLIB_H_

#include <glib.h>
#include <lagwatch/c.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

G_BEGIN_DECLS

enum { LW_GLIB_NAME_BYTES = 32, LW_GLIB_DEPTHS = 8 };

/* Of one thread. */
typedef struct lw_glib_here {
  lw_loop* loop;
  GMainContext* context; /* borrowed: its address alone is used */
  /* Sources with a callback that were dispatched inside so many others; and those before the last poll there.
   */
  guint dispatched[LW_GLIB_DEPTHS];
  guint polled[LW_GLIB_DEPTHS];
  /* Of the source that is dispatched inside so many others: what its callback is kept by (NULL: it has none,
   * or has ended), its tag and its name, since it may be gone before its dispatch ends. */
  gpointer callback[LW_GLIB_DEPTHS];
  const char* tags[LW_GLIB_DEPTHS];
  char names[LW_GLIB_DEPTHS][LW_GLIB_NAME_BYTES];
} lw_glib_here;

typedef void (*lw_glib_getter)(gpointer data, GSource* source, GSourceFunc* function, gpointer* user_data);

/* One of each in the program or library, whichever files include this. */
#define LW_GLIB_SHARED __attribute__((weak, visibility("hidden")))
LW_GLIB_SHARED __thread lw_glib_here lw_glib_this_thread;
LW_GLIB_SHARED lw_glib_getter lw_glib_next_get;
LW_GLIB_SHARED GDestroyNotify lw_glib_next_unref;
LW_GLIB_SHARED GPollFunc lw_glib_next_poll; /* the program's own; NULL: none is watched yet */
LW_GLIB_SHARED gsize lw_glib_follows_callbacks;
LW_GLIB_SHARED gint lw_glib_poll(GPollFD* descriptors, guint count, gint timeout_ms);
LW_GLIB_SHARED void lw_glib_get(gpointer data, GSource* source, GSourceFunc* function, gpointer* user_data);
LW_GLIB_SHARED void lw_glib_unref(gpointer data);

static inline guint lw_glib_depth(void) {
  const gint depth = g_main_depth();
  return depth < LW_GLIB_DEPTHS ? (guint)depth : LW_GLIB_DEPTHS - 1u;
}

LW_GLIB_SHARED gint lw_glib_poll(GPollFD* descriptors, guint count, gint timeout_ms) {
  lw_glib_here* here = &lw_glib_this_thread;
  const GPollFunc poll = lw_glib_next_poll;
  const guint depth = lw_glib_depth();
  gint ready;
  if (here->loop == NULL) return poll(descriptors, count, timeout_ms);
  /* g_main_context_pending() in a callback asks without a wait, and dispatches nothing: no turn of the loop.
   */
  if (timeout_ms == 0 && depth != 0 && here->dispatched[depth] == here->polled[depth])
    return poll(descriptors, count, timeout_ms);
  here->polled[depth] = here->dispatched[depth];
  lw_loop_wait_begin(here->loop);
  ready = poll(descriptors, count, timeout_ms);
  lw_loop_wait_end(here->loop, NULL);
  return ready;
}

/* Called by GLib for a source's callback right before it is dispatched, with the context's lock held. */
LW_GLIB_SHARED void lw_glib_get(gpointer data, GSource* source, GSourceFunc* function, gpointer* user_data) {
  lw_glib_here* here = &lw_glib_this_thread;
  guint depth;
  lw_glib_next_get(data, source, function, user_data);
  if (here->loop == NULL || source->context != here->context) return;
  /* Others ask for callbacks in search of a source, which is not called then, or has been called. */
  if ((source->flags & G_HOOK_FLAG_IN_CALL) == 0 || source == g_main_current_source()) return;
  depth = lw_glib_depth();
  ++here->dispatched[depth];
  here->callback[depth] = data;
  here->tags[depth] = lw_function_tag((uintptr_t)*function);
  /* GLib's own name of idle functions names none of them. */
  if (source->name != NULL && strcmp(source->name, "GIdleSource") != 0)
    here->tags[depth] = strncpy(here->names[depth], source->name, LW_GLIB_NAME_BYTES - 1);
  lw_loop_turn(here->loop, here->tags[depth]);
}

/* Called by GLib, too, when that dispatch is over. In it the thread is one deeper. */
LW_GLIB_SHARED void lw_glib_unref(gpointer data) {
  lw_glib_here* here = &lw_glib_this_thread;
  guint depth;
  lw_glib_next_unref(data); /* may call a function of the program's */
  if (here->loop == NULL) return;
  depth = lw_glib_depth();
  if (here->callback[depth] != data) return;
  here->callback[depth] = NULL;
  /* Without a callback the one outside has no tag: that of its depth is an earlier source's. */
  lw_loop_turn(here->loop, depth != 0 && here->callback[depth - 1] != NULL ? here->tags[depth - 1] : NULL);
}

static inline gboolean lw_glib_nothing(gpointer data) {
  (void)data;
  return G_SOURCE_REMOVE;
}

/* All sources share one table of the functions that keep their callbacks, unless a binding has set another.
 * The kernel writes into it, because it refuses where a table of GLib's cannot be changed. */
static inline void lw_glib_follow_callbacks(void) {
  GSourceCallbackFuncs ours;
  struct iovec from, to;
  GSource* source;
  if (*lw_why_off() != '\0' || !g_once_init_enter(&lw_glib_follows_callbacks)) return;
  source = g_idle_source_new();
  g_source_set_callback(source, &lw_glib_nothing, NULL, NULL);
  ours = *source->callback_funcs;
  lw_glib_next_get = ours.get;
  lw_glib_next_unref = ours.unref;
  ours.get = &lw_glib_get;
  ours.unref = &lw_glib_unref;
  from.iov_base = (void*)&ours;
  to.iov_base = (void*)source->callback_funcs;
  from.iov_len = to.iov_len = sizeof ours;
  syscall(SYS_process_vm_writev, getpid(), &from, 1UL, &to, 1UL, 0UL);
  g_source_unref(source);
  g_once_init_leave(&lw_glib_follows_callbacks, 1);
}

/* All watched contexts have the same poll function of their own: it is not known for which one it is called.
 */
static inline int lw_glib_take_poll(GPollFunc poll) {
  GPollFunc none = NULL;
  return __atomic_compare_exchange_n(&lw_glib_next_poll, &none, poll, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE) ||
         none == poll;
}

/* A plug-in that calls it must stay loaded, since GLib keeps the address of a function of this file.
 *
 * Watches the loop of `context`, NULL for the default one, which the calling thread runs. A thread has one
 * such loop. Returns it, or NULL if there are too many; it is no longer watched once the thread ends. */
static inline lw_loop* lw_glib_watch(GMainContext* context, const char* name) {
  lw_glib_here* here = &lw_glib_this_thread;
  GPollFunc poll;
  if (here->loop != NULL) return here->loop;
  if (context == NULL) context = g_main_context_default();
  lw_glib_follow_callbacks();
  poll = g_main_context_get_poll_func(context);
  if (poll != &lw_glib_poll && !lw_glib_take_poll(poll)) return NULL;
  here->loop = lw_watch_loop(name);
  here->context = context;
  g_main_context_set_poll_func(context, &lw_glib_poll);
  return here->loop;
}

/* From the loop's thread. */
static inline void lw_glib_unwatch(void) {
  lw_glib_here* here = &lw_glib_this_thread;
  if (here->loop == NULL) return;
  lw_loop_wait_begin(here->loop);
  g_main_context_set_poll_func(here->context, lw_glib_next_poll);
  lw_unwatch_loop(here->loop);
  memset(here, 0, sizeof *here);
}

G_END_DECLS

#endif /* LAGWATCH_ADAPTERS_GLIB_H_ */
