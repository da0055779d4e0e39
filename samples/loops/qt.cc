// SPDX-License-Identifier: Apache-2.0
// A loop of Qt with a timer's function that blocks it.
#include <lagwatch/adapters/qt.h>

#include <QCoreApplication>
#include <QTimer>

int main(int count, char** arguments) {
  auto monitor = lagwatch::Monitor::Start({.app = "qt-sample"});
  lagwatch::QtApplication<QCoreApplication> app(count, arguments);
  lagwatch::QtLoop::Watch("ui");
  QTimer::singleShot(1, [] {
    QThread::msleep(3000);
    QCoreApplication::quit();
  });
  return QCoreApplication::exec();
}
