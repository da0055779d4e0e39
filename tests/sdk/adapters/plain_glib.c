/* SPDX-License-Identifier: Apache-2.0 */
/* Knows nothing of lagwatch: run by `lagwatch run`. */
#include <glib.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "save")
PLANTED(HangInIdle, "Idle")
PLANTED(HangInDialog, "key")
PLANTED(HangWithoutRoom, "Crowded")

static GMainLoop* loop;
static GMainLoop* dialog;

static void After(guint ms, const char* name, GSourceFunc function) {
  g_source_set_name_by_id(g_timeout_add(ms, function, NULL), name);
}

static gboolean Save(gpointer data) {
  (void)data;
  HangInTimer();
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

static gboolean OpenDialog(gpointer data) {
  (void)data;
  dialog = g_main_loop_new(NULL, FALSE);
  After(700, "key", &TypeKey);
  After(2000, "close", &CloseDialog);
  g_main_loop_run(dialog);
  g_main_loop_unref(dialog);
  return G_SOURCE_REMOVE;
}

static gboolean Crowded(gpointer data) {
  (void)data;
  HangWithoutRoom();
  return G_SOURCE_REMOVE;
}

static gboolean Nothing(gpointer data) {
  (void)data;
  return G_SOURCE_REMOVE;
}

/* More names than there is room for; the last of these sources is dispatched after the others, in one turn.
 */
static gboolean Crowd(gpointer data) {
  char name[32];
  (void)data;
  for (int i = 0; i < 4096; ++i) {
    snprintf(name, sizeof name, "name %d", i);
    g_source_set_name_by_id(g_idle_add(&Nothing, NULL), name);
  }
  g_source_set_name_by_id(g_idle_add(&Crowded, NULL), "crowded");
  return G_SOURCE_REMOVE;
}

static gboolean Quit(gpointer data) {
  (void)data;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

int main(void) {
  loop = g_main_loop_new(NULL, FALSE);
  After(300, "save", &Save);
  After(1300, "be idle", &BeIdle);
  After(2400, "open", &OpenDialog);
  After(4600, "crowd", &Crowd);
  After(5600, "quit", &Quit);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  return 0;
}
