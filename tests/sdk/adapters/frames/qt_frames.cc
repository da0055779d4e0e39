// SPDX-License-Identifier: Apache-2.0
// A window that is painted again and again, now and then slowly, with the label of numbers above it;
// prints what the label shows after two seconds; then the window deletes itself in a frame. With an argument
// it saves a picture there.
#include <lagwatch/adapters/frames_qt.h>

#include <QApplication>
#include <QPainter>
#include <cstdio>
#include <ctime>

namespace {

class Canvas final : public QWidget {
 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.fillRect(rect(), QColor(40, 80, 160));
    constexpr timespec kSlow{0, 60'000'000};
    if (++paints_ % 10 == 0) nanosleep(&kSlow, nullptr);
  }
  bool event(QEvent* event) override {
    const bool is_last = is_to_go_ && event->type() == QEvent::UpdateRequest;
    const bool is_done = QWidget::event(event);
    if (!is_last) return is_done;
    delete this;
    QTimer::singleShot(0, qApp, [] { QApplication::quit(); });
    return is_done;
  }

 public:
  void GoWithTheNextFrame() { is_to_go_ = true; }

 private:
  bool is_to_go_ = false;
  int paints_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  QApplication application(count, arguments);
  static lw_frames frames;
  auto* window = new Canvas;
  window->resize(480, 160);
  auto* label = new lagwatch::QtFrames(&frames, nullptr, window);
  window->show();
  QTimer paint;
  QObject::connect(&paint, &QTimer::timeout, window, [&] { window->update(); });
  paint.start(16);
  QTimer::singleShot(2000, window, [&] {
    std::puts(label->text().toUtf8().constData());
    if (count > 1 && !window->grab().save(QString::fromLocal8Bit(arguments[1]))) QApplication::exit(1);
    window->GoWithTheNextFrame();
  });
  const int result = QApplication::exec();
  std::printf("left %d\n", frames.begin_ns != 0);
  return result;
}
