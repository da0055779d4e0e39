// SPDX-License-Identifier: Apache-2.0
#include <lagwatch/adapters/qt.h>

#include "rounds.h"

namespace {

long left;

// One turn of the loop for each event.
class Receiver : public QObject {
 public:
  bool event(QEvent*) override {
    if (--left > 0)
      QCoreApplication::postEvent(this, new QEvent(QEvent::User));
    else
      QCoreApplication::quit();
    return true;
  }
};

Receiver* receiver;

void Run(long dispatches) {
  left = dispatches;
  QCoreApplication::postEvent(receiver, new QEvent(QEvent::User));
  QCoreApplication::exec();
}

template <class Application>
int Measure(int count, char** arguments, bool is_watched) {
  Application app(count, arguments);
  if (is_watched) lagwatch::QtLoop::Watch("ui");
  Receiver object;
  receiver = &object;
  return rounds_measure(&Run);
}

}  // namespace

int main(int count, char** arguments) {
  return rounds_start(arguments) ? Measure<lagwatch::QtApplication<QCoreApplication>>(count, arguments, true)
                                 : Measure<QCoreApplication>(count, arguments, false);
}
