/* SPDX-License-Identifier: Apache-2.0 */
/* Needs a display. */
#include <gtk/gtk.h>
#include <lagwatch/adapters/glib.h>

#define PLANTED_HANG_MS 450
#include "tests/sdk/adapters/planted.h"

PLANTED(HangInClick, "click")
PLANTED(HangInDialog, "in_dialog")
PLANTED(HangInFrame, "*") /* the source is the frame clock's */

static GMainLoop* loop;
static GtkWidget* window;
static GtkWidget* button;
static GtkWidget* dialog;

static void After(guint ms, const char* name, GSourceFunc function) {
  g_source_set_name_by_id(g_timeout_add(ms, function, NULL), name);
}

static void OnClick(GtkButton* clicked, gpointer data) {
  (void)clicked, (void)data;
  HangInClick();
}

static gboolean Click(gpointer data) {
  (void)data;
  g_signal_emit_by_name(button, "clicked");
  return G_SOURCE_REMOVE;
}

static gboolean InDialog(gpointer data) {
  (void)data;
  HangInDialog();
  gtk_dialog_response(GTK_DIALOG(dialog), GTK_RESPONSE_CLOSE);
  return G_SOURCE_REMOVE;
}

static void OnResponse(GtkDialog* closed, gint response, gpointer nested) {
  (void)response;
  gtk_window_destroy(GTK_WINDOW(closed));
  g_main_loop_quit(nested);
}

/* A modal dialog that idles, and hangs. */
static gboolean OpenDialog(gpointer data) {
  GMainLoop* nested = g_main_loop_new(NULL, FALSE);
  (void)data;
  dialog = gtk_message_dialog_new(GTK_WINDOW(window), GTK_DIALOG_MODAL, GTK_MESSAGE_INFO, GTK_BUTTONS_CLOSE,
                                  "Saved");
  g_signal_connect(dialog, "response", G_CALLBACK(&OnResponse), nested);
  gtk_window_present(GTK_WINDOW(dialog));
  After(400, "in_dialog", &InDialog);
  g_main_loop_run(nested);
  g_main_loop_unref(nested);
  return G_SOURCE_REMOVE;
}

static gboolean OnFrame(GtkWidget* widget, GdkFrameClock* clock, gpointer data) {
  (void)widget, (void)clock, (void)data;
  HangInFrame();
  return G_SOURCE_REMOVE;
}

static gboolean Draw(gpointer data) {
  (void)data;
  gtk_widget_add_tick_callback(button, &OnFrame, NULL, NULL);
  return G_SOURCE_REMOVE;
}

/* The first frame takes as long as its renderer needs to start. */
static gboolean OnFirstFrame(GtkWidget* widget, GdkFrameClock* clock, gpointer data) {
  (void)widget, (void)clock;
  *(gboolean*)data = TRUE;
  return G_SOURCE_REMOVE;
}

static void WaitForFirstFrame(void) {
  gboolean is_drawn = FALSE;
  gtk_widget_add_tick_callback(window, &OnFirstFrame, &is_drawn, NULL);
  while (!is_drawn || g_main_context_pending(NULL)) g_main_context_iteration(NULL, TRUE);
}

static gboolean Quit(gpointer data) {
  (void)data;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

int main(int count, char** arguments) {
  g_setenv("GSK_RENDERER", "cairo", TRUE);
  if (!gtk_init_check()) return 77;
  planted_start(count, arguments);
  loop = g_main_loop_new(NULL, FALSE);
  window = gtk_window_new();
  button = gtk_button_new_with_label("Save");
  g_signal_connect(button, "clicked", G_CALLBACK(&OnClick), NULL);
  gtk_window_set_child(GTK_WINDOW(window), button);
  gtk_window_present(GTK_WINDOW(window));
  WaitForFirstFrame();
  lw_glib_watch(NULL, "ui");
  After(200, "click", &Click);
  After(800, "open", &OpenDialog);
  After(1750, "draw", &Draw);
  After(2300, "quit", &Quit);
  g_main_loop_run(loop);
  lw_glib_unwatch();
  lw_stop(0);
  return 0;
}
