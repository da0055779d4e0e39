// SPDX-License-Identifier: Apache-2.0
// A program of Qt Quick whose scene is drawn by a thread of its own; one of its frames takes too long.
#include <lagwatch/adapters/frames_quick.h>

#include <QGuiApplication>
#include <QQmlComponent>
#include <QQmlEngine>
#include <QQuickItem>
#include <QTimer>

// On the render thread.
static void DrawFrame() {
  static int frames = 0;
  if (++frames == 5) QThread::msleep(900);
}

int main(int count, char** arguments) {
  qputenv("QSG_RENDER_LOOP", "threaded");
  auto monitor = lagwatch::Monitor::Start({.app = "qml-sample"});
  lagwatch::QtApplication<QGuiApplication> app(count, arguments);
  lagwatch::QtLoop::Watch("ui");
  QQmlEngine engine;
  QQmlComponent component(&engine);
  component.setData(
      "import QtQuick 2.15\n"
      "Rectangle { width: 90; height: 90; color: \"teal\"\n"
      "  NumberAnimation on rotation { from: 0; to: 90; duration: 3000 } }",
      QUrl());
  QQuickWindow window;
  new lagwatch::QuickFrames(&window);
  qobject_cast<QQuickItem*>(component.create())->setParentItem(window.contentItem());
  QObject::connect(&window, &QQuickWindow::beforeRendering, &window, &DrawFrame, Qt::DirectConnection);
  window.show();
  QTimer::singleShot(1500, &app, &QCoreApplication::quit);
  return app.exec();
}
