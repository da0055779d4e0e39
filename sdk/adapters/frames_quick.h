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

namespace lagwatch {

class QuickFrames final : public QObject {
 public:
  explicit QuickFrames(QQuickWindow* window) : QObject(window) {
    connect(window, &QQuickWindow::beforeRendering, this, &Begin, Qt::DirectConnection);
    connect(window, &QQuickWindow::afterRendering, this, &End, Qt::DirectConnection);
  }

 private:
  // Of a thread that draws.
  struct Drawing {
    lw_loop* loop = OwnLoop();
    bool is_frame = false;
  };
  static Drawing& Here() {
    static thread_local Drawing drawing;
    return drawing;
  }
  static lw_loop* OwnLoop() {
    const Loop watched = QtLoop::OfThisThread();
    return watched.is_watched() ? watched.handle() : lw_watch_loop("render");
  }

  static void Begin() {
    End();
    Here().is_frame = true;
    lw_frame_begin(Here().loop, 0);
    lw_frame_stage(Here().loop, LW_STAGE_DRAW);
  }
  static void End() {
    if (Here().is_frame) lw_frame_end(Here().loop);
    Here().is_frame = false;
  }
};

}  // namespace lagwatch
