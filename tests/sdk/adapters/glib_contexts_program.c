/* SPDX-License-Identifier: Apache-2.0 */
/* Three threads with a context each, whose hangs overlap, beside the main thread's, which waits for them;
 * then its source without a callback, as GDK's for events, runs a loop, and hangs. */
#include <lagwatch/adapters/glib.h>

#define PLANTED_HANG_MS 450
#include "tests/sdk/adapters/planted.h"

PLANTED(HangInFirst, "first")
PLANTED(HangInSecond, "second")
PLANTED(HangInThird, "Third") /* its source has no name */
PLANTED(HangAfterResponse, "-")

typedef struct {
  const char* loop;
  const char* source;
  guint after_ms;
  GSourceFunc function;
} job;

static GMainLoop* main_loop;
static gint left = 3;

static gboolean First(gpointer data) {
  HangInFirst();
  g_main_loop_quit(data);
  return G_SOURCE_REMOVE;
}

static gboolean Second(gpointer data) {
  HangInSecond();
  g_main_loop_quit(data);
  return G_SOURCE_REMOVE;
}

static gboolean Third(gpointer data) {
  HangInThird();
  g_main_loop_quit(data);
  return G_SOURCE_REMOVE;
}

static int events;

static gboolean Quit(gpointer data) {
  (void)data;
  events = 1;
  return G_SOURCE_REMOVE;
}

static gboolean Prepare(GSource* source, gint* timeout_ms) {
  (void)source;
  *timeout_ms = -1;
  return events > 0;
}

static gboolean Check(GSource* source) {
  (void)source;
  return events > 0;
}

static gboolean Respond(gpointer data) {
  g_main_loop_quit(data);
  return G_SOURCE_REMOVE;
}

static gboolean Dispatch(GSource* source, GSourceFunc function, gpointer data) {
  GMainLoop* dialog = g_main_loop_new(NULL, FALSE);
  (void)source, (void)function, (void)data;
  events = 0;
  g_timeout_add(10, &Respond, dialog);
  g_main_loop_run(dialog);
  g_main_loop_unref(dialog);
  HangAfterResponse();
  g_main_loop_quit(main_loop);
  return G_SOURCE_CONTINUE;
}

static void AddEventSource(void) {
  static GSourceFuncs functions = {.prepare = &Prepare, .check = &Check, .dispatch = &Dispatch};
  GSource* source = g_source_new(&functions, sizeof(GSource));
  g_source_set_can_recurse(source, TRUE);
  g_source_attach(source, NULL);
  g_source_unref(source);
}

static gpointer RunLoop(gpointer data) {
  const job* mine = data;
  GMainContext* context = g_main_context_new();
  GMainLoop* loop = g_main_loop_new(context, FALSE);
  GSource* source = g_timeout_source_new(mine->after_ms);
  lw_glib_watch(context, mine->loop);
  if (mine->source != NULL) g_source_set_name(source, mine->source);
  g_source_set_callback(source, mine->function, loop, NULL);
  g_source_attach(source, context);
  g_source_unref(source);
  g_main_loop_run(loop);
  lw_glib_unwatch();
  g_main_loop_unref(loop);
  g_main_context_unref(context);
  if (g_atomic_int_dec_and_test(&left)) g_main_context_invoke(NULL, &Quit, NULL);
  return NULL;
}

int main(int count, char** arguments) {
  static job jobs[] = {
      {"one", "first", 100, &First}, {"two", "second", 200, &Second}, {"three", NULL, 300, &Third}};
  GThread* threads[G_N_ELEMENTS(jobs)];
  planted_start(count, arguments);
  main_loop = g_main_loop_new(NULL, FALSE);
  lw_glib_watch(NULL, "ui");
  AddEventSource();
  for (size_t i = 0; i < G_N_ELEMENTS(jobs); ++i) threads[i] = g_thread_new(jobs[i].loop, &RunLoop, &jobs[i]);
  g_main_loop_run(main_loop);
  lw_glib_unwatch();
  for (size_t i = 0; i < G_N_ELEMENTS(jobs); ++i) g_thread_join(threads[i]);
  lw_stop(0);
  return 0;
}
