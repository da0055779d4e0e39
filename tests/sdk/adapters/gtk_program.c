/* SPDX-License-Identifier: Apache-2.0 */
/* Needs a display. */
#include <gtk/gtk.h>
#include <lagwatch/adapters/glib.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInClick, "click")
PLANTED(HangInDialog, "in_dialog")
PLANTED(HangInKey, "-") /* GDK's source of events has no callback, and not the tag of the one before it */

static GtkWidget* window;
static GtkWidget* button;
static GtkWidget* dialog;

static void OnClick(GtkButton* clicked, gpointer data) {
  (void)clicked, (void)data;
  HangInClick();
}

static gboolean OnKey(GtkWidget* widget, GdkEvent* event, gpointer data) {
  (void)widget, (void)event, (void)data;
  HangInKey();
  return TRUE;
}

static gboolean Click(gpointer data) {
  (void)data;
  gtk_button_clicked(GTK_BUTTON(button));
  return G_SOURCE_REMOVE;
}

static gboolean InDialog(gpointer data) {
  (void)data;
  HangInDialog();
  return G_SOURCE_REMOVE;
}

static gboolean CloseDialog(gpointer data) {
  (void)data;
  gtk_dialog_response(GTK_DIALOG(dialog), GTK_RESPONSE_CLOSE);
  return G_SOURCE_REMOVE;
}

static void After(guint ms, const char* name, GSourceFunc function) {
  g_source_set_name_by_id(g_timeout_add(ms, function, NULL), name);
}

/* A modal dialog that idles, hangs, idles, and is closed. */
static gboolean OpenDialog(gpointer data) {
  (void)data;
  dialog = gtk_message_dialog_new(GTK_WINDOW(window), GTK_DIALOG_MODAL, GTK_MESSAGE_INFO, GTK_BUTTONS_CLOSE,
                                  "Saved");
  After(700, "in_dialog", &InDialog);
  After(2200, "close", &CloseDialog);
  gtk_dialog_run(GTK_DIALOG(dialog));
  gtk_widget_destroy(dialog);
  return G_SOURCE_REMOVE;
}

/* As programs do that show a progress bar. */
static gboolean Pump(gpointer data) {
  (void)data;
  for (int i = 0; i < 60; ++i) {
    gtk_button_set_label(GTK_BUTTON(button), i % 2 == 0 ? "even" : "odd"); /* draws again */
    while (gtk_events_pending()) gtk_main_iteration();
    planted_sleep_ms(10);
  }
  return G_SOURCE_REMOVE;
}

static gboolean PressKey(gpointer data) {
  GdkEvent* event = gdk_event_new(GDK_KEY_PRESS);
  GdkSeat* seat = gdk_display_get_default_seat(gdk_display_get_default());
  (void)data;
  event->key.window = g_object_ref(gtk_widget_get_window(window));
  event->key.keyval = GDK_KEY_a;
  gdk_event_set_device(event, gdk_seat_get_keyboard(seat));
  gdk_display_put_event(gdk_display_get_default(), event);
  gdk_event_free(event);
  return G_SOURCE_REMOVE;
}

static gboolean Quit(gpointer data) {
  (void)data;
  gtk_main_quit();
  return G_SOURCE_REMOVE;
}

int main(int count, char** arguments) {
  if (!gtk_init_check(NULL, NULL)) return 77;
  planted_start(count, arguments);
  lw_glib_watch(NULL, "ui");
  window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
  button = gtk_button_new_with_label("Save");
  g_signal_connect(button, "clicked", G_CALLBACK(&OnClick), NULL);
  g_signal_connect(window, "key-press-event", G_CALLBACK(&OnKey), NULL);
  gtk_container_add(GTK_CONTAINER(window), button);
  gtk_widget_show_all(window);
  After(500, "click", &Click);
  After(1800, "open", &OpenDialog);
  After(4800, "pump", &Pump);
  After(6200, "key", &PressKey);
  After(7600, "quit", &Quit);
  gtk_main();
  lw_glib_unwatch();
  lw_stop(0);
  return 0;
}
