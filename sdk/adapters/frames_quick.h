// SPDX-License-Identifier: Apache-2.0
// The frames of a window of Qt Quick 5 or 6, on the thread that renders it. Header only.
//
//   QQuickView view;
//   new lagwatch::QuickFrames(&view);  // a child of the window
//
// A frame begins when its scene begins to be drawn, and ends once it is drawn, before the window presents it:
// with vsync that waits for the display. Of its synchronization it is known too late whether anything is
// drawn. The render thread is a loop of its own, "render", which has frames and no dispatches; where windows
// are drawn on the thread of the events, the frames are of that thread's loop, if QtLoop watches it.
#pragma once

#include <lagwatch/adapters/qt.h>

#include <QQuickWindow>
#include <utility>

namespace lagwatch {

class QuickFrames final : public QObject {
 public:
  explicit QuickFrames(QQuickWindow* window) : QObject(window) {
    connect(window, &QQuickWindow::beforeRendering, this, &Begin, Qt::DirectConnection);
    connect(window, &QQuickWindow::afterRendering, this, &End, Qt::DirectConnection);
  }

 private:
  // The loop of the frame that this thread draws, null in none.
  static lw_loop*& Frame() {
    static thread_local lw_loop* loop = nullptr;
    return loop;
  }
  // QtLoop's may be unwatched, and watched, between two frames.
  static lw_loop* LoopHere() {
    if (const Loop watched = QtLoop::OfThisThread(); watched.is_watched()) return watched.handle();
    static thread_local lw_loop* const own = lw_watch_loop("render");
    return own;
  }

  static void Begin() {
    Frame() = LoopHere();
    lw_frame_begin(Frame(), 0);
    lw_frame_stage(Frame(), LW_STAGE_DRAW);
  }
  static void End() { lw_frame_end(std::exchange(Frame(), nullptr)); }
};

}  // namespace lagwatch
