/* SPDX-License-Identifier: Apache-2.0 */
/* A window that is drawn again and again, now and then slowly, with the label of numbers above it;
 * prints what the label shows after two seconds. Then the window is destroyed, and the loop goes on for
 * longer than the label takes to change. */
#include <gtk/gtk.h>
#include <lagwatch/adapters/frames_gtk.h>

static lw_frames frames;
static int draws;

static gboolean Draw(GtkWidget* widget, cairo_t* cairo, gpointer unused) {
  (void)widget, (void)unused;
  cairo_set_source_rgb(cairo, 0.2, 0.3, 0.6);
  cairo_paint(cairo);
  if (++draws % 10 == 0) g_usleep(60000);
  return FALSE;
}
static gboolean Again(GtkWidget* widget, GdkFrameClock* clock, gpointer unused) {
  (void)clock, (void)unused;
  gtk_widget_queue_draw(widget);
  return G_SOURCE_CONTINUE;
}
static gboolean Quit(gpointer unused) {
  (void)unused;
  gtk_main_quit();
  return G_SOURCE_REMOVE;
}
static gboolean Finish(gpointer label) {
  puts(gtk_label_get_text(GTK_LABEL(label)));
  gtk_widget_destroy(gtk_widget_get_toplevel(GTK_WIDGET(label)));
  g_timeout_add(600, Quit, NULL);
  return G_SOURCE_REMOVE;
}

int main(int count, char** arguments) {
  gtk_init(&count, &arguments);
  GtkWidget* window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
  GtkWidget* overlay = gtk_overlay_new();
  GtkWidget* area = gtk_drawing_area_new();
  gtk_window_set_default_size(GTK_WINDOW(window), 480, 160);
  g_signal_connect(area, "draw", G_CALLBACK(Draw), NULL);
  gtk_widget_add_tick_callback(area, Again, NULL, NULL);
  gtk_container_add(GTK_CONTAINER(overlay), area);
  GtkWidget* label = lw_frames_label(&frames, NULL, area);
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay), label);
  gtk_container_add(GTK_CONTAINER(window), overlay);
  gtk_widget_show_all(window);
  g_timeout_add(2000, Finish, label);
  gtk_main();
  printf("left %d\n", frames.begin_ns != 0);
  return 0;
}
