/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the numbers of frames.h in a small label above a GTK 3 or 4 window, in debug builds, and marks the
 * frames of that window by its frame clock. Header only; include GTK's header first.
 *
 *   static lw_frames frames;
 *   gtk_overlay_add_overlay(overlay, lw_frames_label(&frames, loop, widget));
 *
 * `widget`: one that is in the window. `frames` and `loop` must live longer than the label. */
#ifndef LAGWATCH_ADAPTERS_FRAMES_GTK_H_
#define LAGWATCH_ADAPTERS_FRAMES_GTK_H_

#include <lagwatch/adapters/frames.h>

typedef struct lw_frames_gtk {
  lw_frames* frames;
  lw_loop* loop;
  GtkWidget* label;
  guint timeout;
} lw_frames_gtk;

/* The label is destroyed: its signal handlers are gone already. */
static inline void lw_frames_gtk_gone(gpointer data, GObject* label) {
  lw_frames_gtk* self = (lw_frames_gtk*)data;
  (void)label;
  g_source_remove(self->timeout);
  if (self->frames->begin_ns != 0) lw_frames_end(self->frames, self->loop);
  g_free(self);
}

static inline lw_frames_gtk* lw_frames_gtk_of(gpointer label) {
  return (lw_frames_gtk*)g_object_get_data(G_OBJECT(label), "lagwatch-frames");
}

static inline void lw_frames_gtk_before(GdkFrameClock* clock, gpointer data) {
  lw_frames_gtk* self = lw_frames_gtk_of(data);
  (void)clock;
  lw_frames_begin(self->frames, self->loop);
}

static inline void lw_frames_gtk_after(GdkFrameClock* clock, gpointer data) {
  lw_frames_gtk* self = lw_frames_gtk_of(data);
  (void)clock;
  if (self->frames->begin_ns != 0) lw_frames_end(self->frames, self->loop);
}

/* Twice a second: a label that changes makes a frame. */
static inline gboolean lw_frames_gtk_show(gpointer data) {
  lw_frames_gtk* self = (lw_frames_gtk*)data;
  char lines[LW_FRAMES_LINES][LW_FRAMES_LINE_BYTES];
  char text[LW_FRAMES_LINES * LW_FRAMES_LINE_BYTES];
  lw_frames_text(self->frames, lines);
  snprintf(text, sizeof text, "%s\n%s\n%s", lines[0], lines[1], lines[2]);
  gtk_label_set_text(GTK_LABEL(self->label), text);
  return G_SOURCE_CONTINUE;
}

static inline void lw_frames_gtk_realized(GtkWidget* widget, gpointer data) {
  GdkFrameClock* clock = gtk_widget_get_frame_clock(widget);
  if (clock == NULL) return;
  g_signal_connect_object(clock, "before-paint", G_CALLBACK(lw_frames_gtk_before), data, (GConnectFlags)0);
  g_signal_connect_object(clock, "after-paint", G_CALLBACK(lw_frames_gtk_after), data, (GConnectFlags)0);
}

static inline GtkWidget* lw_frames_label(lw_frames* frames, lw_loop* loop, GtkWidget* widget) {
  lw_frames_gtk* self = g_new0(lw_frames_gtk, 1);
  self->frames = frames;
  self->loop = loop;
  self->label = gtk_label_new("- fps");
  gtk_widget_set_halign(self->label, GTK_ALIGN_END);
  gtk_widget_set_valign(self->label, GTK_ALIGN_START);
  gtk_widget_set_can_focus(self->label, FALSE);
  gtk_widget_set_name(self->label, "lagwatch-frames");
  self->timeout = g_timeout_add(500, lw_frames_gtk_show, self);
  g_object_set_data(G_OBJECT(self->label), "lagwatch-frames", self);
  g_object_weak_ref(G_OBJECT(self->label), lw_frames_gtk_gone, self);
  if (gtk_widget_get_realized(widget)) {
    lw_frames_gtk_realized(widget, self->label);
  } else {
    g_signal_connect_object(widget, "realize", G_CALLBACK(lw_frames_gtk_realized), self->label,
                            (GConnectFlags)0);
  }
  return self->label;
}

#endif /* LAGWATCH_ADAPTERS_FRAMES_GTK_H_ */
