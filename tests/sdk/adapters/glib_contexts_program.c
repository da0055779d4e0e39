/* SPDX-License-Identifier: Apache-2.0 */
/* Three threads with a context each, whose hangs overlap, beside the main thread's, which waits for them. */
#include <lagwatch/adapters/glib.h>

#define PLANTED_HANG_MS 450
#include "tests/sdk/adapters/planted.h"

PLANTED(HangInFirst, "first")
PLANTED(HangInSecond, "second")
PLANTED(HangInThird, "Third") /* its source has no name */

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

static gboolean Quit(gpointer data) {
  (void)data;
  g_main_loop_quit(main_loop);
  return G_SOURCE_REMOVE;
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
  for (size_t i = 0; i < G_N_ELEMENTS(jobs); ++i) threads[i] = g_thread_new(jobs[i].loop, &RunLoop, &jobs[i]);
  g_main_loop_run(main_loop);
  lw_glib_unwatch();
  for (size_t i = 0; i < G_N_ELEMENTS(jobs); ++i) g_thread_join(threads[i]);
  lw_stop(0);
  return 0;
}
