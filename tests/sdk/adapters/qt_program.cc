// SPDX-License-Identifier: Apache-2.0
#include <lagwatch/adapters/qt.h>
#include <unistd.h>

#include <QApplication>
#include <QDialog>
#include <QEventLoop>
#include <QKeyEvent>
#include <QThread>
#include <QTimer>
#include <functional>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "QSingleShotTimer::Timer")
PLANTED(HangInKey, "QWidget::KeyPress")
PLANTED(HangInDialog, "QSingleShotTimer::Timer")
PLANTED(HangAfterDialog, "QSingleShotTimer::Timer")
PLANTED(HangInNestedLoop, "QSingleShotTimer::Timer")
PLANTED(HangInPosted, "*")
PLANTED(HangInThread, "*")
PLANTED(HangAfterExec, "-")

namespace {

class Window : public QWidget {
 protected:
  void keyPressEvent(QKeyEvent*) override { HangInKey(); }
};

class Worker : public QThread {
 protected:
  void run() override {
    lagwatch::QtLoop::Watch("worker");
    QTimer::singleShot(1000, [this] {
      HangInThread();
      quit();
    });
    exec();
  }
};

// A modal dialog that idles, hangs, idles, and is closed.
void OpenDialog() {
  QDialog dialog;
  QTimer::singleShot(700, [] { HangInDialog(); });
  QTimer::singleShot(2200, &dialog, &QDialog::accept);
  dialog.exec();
  HangAfterDialog();
}

void RunNestedLoop() {
  QEventLoop nested;
  QTimer::singleShot(600, [&] {
    HangInNestedLoop();
    nested.quit();
  });
  nested.exec();
}

// As programs do that show a progress bar.
void Pump() {
  for (int i = 0; i < 100; ++i) {
    QCoreApplication::processEvents();
    planted_sleep_ms(10);
  }
}

}  // namespace

int main(int count, char** arguments) {
  planted_start(count, arguments);
  if (qEnvironmentVariableIsEmpty("DISPLAY")) qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("XDG_RUNTIME_DIR", QByteArray(arguments[1]) + ".run");  // else Qt makes one in /tmp, and leaves it
  lagwatch::QtApplication<QApplication> app(count, arguments);
  lagwatch::QtLoop::Watch("ui");
  Window window;
  window.show();
  Worker worker;
  const auto after = [](int ms, std::function<void()> function) {
    QTimer::singleShot(ms, std::move(function));
  };
  after(300, [] { HangInTimer(); });
  after(1500, [&] {
    QCoreApplication::postEvent(&window, new QKeyEvent(QEvent::KeyPress, Qt::Key_A, Qt::NoModifier));
  });
  after(2700, [] { OpenDialog(); });
  after(6500, [] { RunNestedLoop(); });
  after(8500, [] { Pump(); });
  after(10000, [&] {
    QMetaObject::invokeMethod(
        &window, [] { HangInPosted(); }, Qt::QueuedConnection);
  });
  after(11000, [&] { worker.start(); });
  after(13500, [] { QCoreApplication::quit(); });
  QApplication::exec();
  worker.wait();
  for (int i = 0; i < 4; ++i) {
    QCoreApplication::processEvents();
    if (i == 1) HangAfterExec();
  }
  lw_stop(0);
}
