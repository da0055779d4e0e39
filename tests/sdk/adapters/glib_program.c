/* SPDX-License-Identifier: Apache-2.0 */
#include <glib-unix.h>
#include <lagwatch/adapters/glib.h>
#include <unistd.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "save")
PLANTED(HangInDialog, "key")
PLANTED(HangAfterDialog, "OpenDialog")
PLANTED(HangInReader, "reader")
PLANTED(HangInIdle, "Idle") /* the source has no name but its function */
PLANTED(HangInThread, "worker")

static GMainLoop* loop;
static GMainLoop* dialog;
static int ends[2];

static guint Add(GSource* source, const char* name, GSourceFunc function) {
  guint id;
  if (name != NULL) g_source_set_name(source, name);
  g_source_set_callback(source, function, NULL, NULL);
  id = g_source_attach(source, NULL);
  g_source_unref(source);
  return id;
}

static gboolean Save(gpointer data) {
  (void)data;
  HangInTimer();
  return G_SOURCE_REMOVE;
}

static gboolean TypeKey(gpointer data) {
  (void)data;
  HangInDialog();
  return G_SOURCE_REMOVE;
}

static gboolean CloseDialog(gpointer data) {
  (void)data;
  g_main_loop_quit(dialog);
  return G_SOURCE_REMOVE;
}

/* A dialog: it idles, hangs, idles, and is closed. */
static gboolean OpenDialog(gpointer data) {
  (void)data;
  dialog = g_main_loop_new(NULL, FALSE);
  Add(g_timeout_source_new(700), "key", &TypeKey);
  Add(g_timeout_source_new(2200), "close", &CloseDialog);
  g_main_loop_run(dialog);
  g_main_loop_unref(dialog);
  HangAfterDialog();
  return G_SOURCE_REMOVE;
}

static gboolean Read(gint fd, GIOCondition condition, gpointer data) {
  char byte;
  (void)condition;
  (void)data;
  if (read(fd, &byte, 1) == 1) HangInReader();
  return G_SOURCE_REMOVE;
}

static gboolean Write(gpointer data) {
  (void)data;
  if (write(ends[1], "x", 1) != 1) abort();
  return G_SOURCE_REMOVE;
}

/* Runs the loop by hand for longer than the threshold, as programs do that show a progress bar. */
static gboolean Pump(gpointer data) {
  (void)data;
  for (int i = 0; i < 100; ++i) {
    Add(g_idle_source_new(), "progress", &lw_glib_nothing);
    while (g_main_context_iteration(NULL, FALSE)) continue;
    planted_sleep_ms(10);
  }
  return G_SOURCE_REMOVE;
}

/* Asks now and then whether there is anything to do, and does nothing about it. */
static gboolean AskWhatIsPending(gpointer data) {
  (void)data;
  planted_tell("AskWhatIsPending", "asks");
  for (int i = 0; i < 60; ++i) {
    g_main_context_pending(NULL);
    planted_sleep_ms(10);
  }
  return G_SOURCE_REMOVE;
}

static gboolean Idle(gpointer data) {
  (void)data;
  HangInIdle();
  return G_SOURCE_REMOVE;
}

static gboolean BeIdle(gpointer data) {
  (void)data;
  g_idle_add(&Idle, NULL);
  return G_SOURCE_REMOVE;
}

static gboolean Quit(gpointer data) {
  (void)data;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

static gboolean HangThread(gpointer data) {
  HangInThread();
  g_main_loop_quit(data);
  return G_SOURCE_REMOVE;
}

static gpointer RunThread(gpointer data) {
  GMainContext* context = g_main_context_new();
  GMainLoop* own = g_main_loop_new(context, FALSE);
  GSource* source = g_timeout_source_new(1200);
  (void)data;
  lw_glib_watch(context, "worker");
  g_source_set_name(source, "worker");
  g_source_set_callback(source, &HangThread, own, NULL);
  g_source_attach(source, context);
  g_source_unref(source);
  g_main_loop_run(own);
  g_main_loop_unref(own);
  lw_glib_unwatch();
  g_main_context_unref(context);
  return NULL;
}

static gboolean StartThread(gpointer data) {
  (void)data;
  g_thread_unref(g_thread_new("worker", &RunThread, NULL));
  return G_SOURCE_REMOVE;
}

int main(int count, char** arguments) {
  planted_start(count, arguments);
  lw_glib_watch(NULL, "ui");
  if (pipe(ends) != 0) return 1;
  loop = g_main_loop_new(NULL, FALSE);
  Add(g_timeout_source_new(100), "save", &Save);
  Add(g_timeout_source_new(1500), NULL, &OpenDialog);
  g_source_set_name_by_id(g_unix_fd_add(ends[0], G_IO_IN, &Read, NULL), "reader");
  Add(g_timeout_source_new(5000), "write", &Write);
  Add(g_timeout_source_new(6200), "pump", &Pump);
  Add(g_timeout_source_new(7600), "asks", &AskWhatIsPending);
  Add(g_timeout_source_new(8700), "thread", &StartThread);
  Add(g_timeout_source_new(11200), "idle", &BeIdle);
  Add(g_timeout_source_new(12300), "quit", &Quit);
  g_main_loop_run(loop);
  lw_glib_unwatch();
  lw_stop(0);
  return 0;
}
