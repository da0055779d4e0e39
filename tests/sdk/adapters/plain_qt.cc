// SPDX-License-Identifier: Apache-2.0
// Knows nothing of lagwatch: run by `lagwatch run`.
#include <QApplication>
#include <QDialog>
#include <QKeyEvent>
#include <QTimer>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "QSingleShotTimer::Timer")
PLANTED(HangInKey, "QWidget::KeyPress")
PLANTED(HangInDialog, "QSingleShotTimer::Timer")

namespace {

class Window : public QWidget {
 protected:
  void keyPressEvent(QKeyEvent*) override { HangInKey(); }
};

// A modal dialog that idles, hangs, idles, and is closed.
void OpenDialog() {
  QDialog dialog;
  QTimer::singleShot(700, [] { HangInDialog(); });
  QTimer::singleShot(2000, &dialog, &QDialog::accept);
  dialog.exec();
}

}  // namespace

int main(int count, char** arguments) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(count, arguments);
  Window window;
  window.show();
  QTimer::singleShot(300, [] { HangInTimer(); });
  QTimer::singleShot(1400, [&] {
    QCoreApplication::postEvent(&window, new QKeyEvent(QEvent::KeyPress, Qt::Key_A, Qt::NoModifier));
  });
  QTimer::singleShot(2500, [] { OpenDialog(); });
  QTimer::singleShot(5200, [] { QCoreApplication::quit(); });
  return QApplication::exec();
}
