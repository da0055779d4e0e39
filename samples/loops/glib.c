/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of GLib with an idle function that blocks it. */
#include <lagwatch/adapters/glib.h>

static gboolean Save(gpointer loop) {
  g_usleep(3000000);
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

int main(void) {
  lw_options options;
  lw_options_init(&options);
  options.app = "glib-sample";
  lw_start(&options);
  lw_glib_watch(NULL, "ui");
  GMainLoop* loop = g_main_loop_new(NULL, FALSE);
  g_idle_add(&Save, loop);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  lw_stop(0);
  return 0;
}
