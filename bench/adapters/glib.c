/* SPDX-License-Identifier: Apache-2.0 */
#include <lagwatch/adapters/glib.h>

#include "rounds.h"

static GMainLoop* loop;
static long left;

static gboolean Turn(gpointer data) {
  (void)data;
  if (--left > 0) return G_SOURCE_CONTINUE;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

static void Run(long dispatches) {
  left = dispatches;
  g_source_set_name_by_id(g_idle_add(&Turn, NULL), "turn");
  g_main_loop_run(loop);
}

int main(int count, char** arguments) {
  (void)count;
  loop = g_main_loop_new(NULL, FALSE);
  if (rounds_start(arguments)) lw_glib_watch(NULL, "ui");
  return rounds_measure(&Run);
}
