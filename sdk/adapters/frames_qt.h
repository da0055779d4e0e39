// SPDX-License-Identifier: Apache-2.0
// Shows the numbers of frames.h in a small label above a Qt 5 or 6 widget's window, in debug builds, and
// marks the frames that this window paints. Header only: needs QtWidgets' headers.
//
//   static lw_frames frames;
//   new lagwatch::QtFrames(&frames, loop, &window);  // the window's child
//
// Make it before other event filters are installed on the window: Qt calls the newest first, and this one
// passes on no update requests to those that were there before.
#pragma once

#include <lagwatch/adapters/frames.h>

#include <QEvent>
#include <QFont>
#include <QLabel>
#include <QPointer>
#include <QTimer>
#include <QWidget>

namespace lagwatch {

class QtFrames final : public QLabel {
 public:
  // `frames` and `loop` are borrowed, and live longer; `loop` may be null.
  QtFrames(lw_frames* frames, lw_loop* loop, QWidget* window)
      : QLabel(QStringLiteral("- fps"), window), frames_(frames), loop_(loop) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAutoFillBackground(true);
    setMargin(2);
    setObjectName(QStringLiteral("lagwatch-frames"));
    setFont(QFont(QStringLiteral("monospace")));
    window->installEventFilter(this);
    // Twice a second: a label that changes makes a frame.
    QObject::connect(&timer_, &QTimer::timeout, this, [this] { ShowNumbers(); });
    timer_.start(500);
    ShowNumbers();
  }
  ~QtFrames() override {
    if (is_inside_) lw_frames_end(frames_, loop_);
  }

  // A window's update request paints all of its widgets: from its arrival to the next event is a frame.
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::UpdateRequest && !is_inside_) {
      is_inside_ = true;
      lw_frames_begin(frames_, loop_);
      const QPointer<QtFrames> self(this);
      watched->event(event);
      if (self.isNull()) return true;  // the event has deleted the window
      lw_frames_end(frames_, loop_);
      is_inside_ = false;
      return true;
    }
    if (event->type() == QEvent::Resize) Place();
    return QLabel::eventFilter(watched, event);
  }

 private:
  void ShowNumbers() {
    char lines[LW_FRAMES_LINES][LW_FRAMES_LINE_BYTES];
    lw_frames_text(frames_, lines);
    setText(QStringLiteral("%1\n%2\n%3")
                .arg(QString::fromUtf8(lines[0]), QString::fromUtf8(lines[1]), QString::fromUtf8(lines[2])));
    adjustSize();
    Place();
    raise();
  }
  void Place() { move(parentWidget()->width() - width(), 0); }

  lw_frames* frames_;
  lw_loop* loop_;
  QTimer timer_;
  bool is_inside_ = false;
};

}  // namespace lagwatch
