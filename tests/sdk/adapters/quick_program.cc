// SPDX-License-Identifier: Apache-2.0
// A window of Qt Quick whose scene is synchronized once when nothing in it has changed. Prints the number of
// frames that were drawn, and that of synchronizations. Where it draws on the thread of the events
// (QSG_RENDER_LOOP=basic), that thread's loop is watched for the first frames alone.
#include <lagwatch/adapters/frames_quick.h>

#include <QGuiApplication>
#include <QQuickItem>
#include <QTimer>
#include <atomic>

#include "tests/sdk/adapters/planted.h"

int main(int count, char** arguments) {
  planted_start(count, arguments);
  const bool draws_here = qgetenv("QSG_RENDER_LOOP") == "basic";
  if (!draws_here) qputenv("QSG_RENDER_LOOP", "threaded");
  QGuiApplication app(count, arguments);
  if (draws_here) lagwatch::QtLoop::Watch("ui");
  static std::atomic<int> syncs, frames;
  QQuickWindow window;
  new lagwatch::QuickFrames(&window);
  QObject::connect(
      &window, &QQuickWindow::beforeSynchronizing, &window, [] { ++syncs; }, Qt::DirectConnection);
  QObject::connect(
      &window, &QQuickWindow::afterRendering, &window, [] { ++frames; }, Qt::DirectConnection);
  window.show();
  QTimer::singleShot(500, [&] {
    if (draws_here) lagwatch::QtLoop::Unwatch();
    window.contentItem()->polish();
  });
  QTimer::singleShot(800, [&] {
    window.setColor(Qt::red);
    window.update();
  });
  QTimer::singleShot(1100, [] { QCoreApplication::quit(); });
  QGuiApplication::exec();
  window.destroy();  // ends the thread that draws
  lw_stop(0);
  std::printf("%d %d\n", frames.load(), syncs.load());
}
