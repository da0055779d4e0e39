// SPDX-License-Identifier: Apache-2.0
// Watches the loops of Qt 5 and 6. Header only: needs QtCore's headers, and lagwatch needs no Qt.
//
//   lagwatch::QtApplication<QApplication> app(argc, argv);  // in the place of QApplication
//   lagwatch::QtLoop::Watch("ui");
//
// A wait begins when the thread's event dispatcher is about to block, and ends with the first event that is
// delivered, so nested and modal loops are no hangs. Each event is a dispatch with the tag "Receiver::Type".
// Other threads with a loop of their own call QtLoop::Watch() in QThread::run(). Without QtApplication there
// are no tags, and the time from the first event after a wait to the next wait is a dispatch.
#pragma once

#include <lagwatch/lagwatch.h>

#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QEvent>
#include <QMetaEnum>
#include <QMetaObject>
#include <QObject>
#include <QThread>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>

namespace lagwatch {

// The loop of the calling thread.
class QtLoop {
 public:
  // Watches it. After the application's constructor; in another thread, once its dispatcher is there: in
  // QThread::run(). It is no longer watched once the dispatcher is gone.
  static Loop Watch(const char* name) {
    static thread_local const Ending ending;
    (void)&ending;  // it is made with the first use
    State& here = Here();
    QAbstractEventDispatcher* dispatcher = QAbstractEventDispatcher::instance();
    if (here.loop != nullptr || dispatcher == nullptr) return Loop(here.loop);
    here.loop = lw_watch_loop(name);
    if (here.tags == nullptr) here.tags = new (std::nothrow) Tags{};
    here.signals_receiver = new (std::nothrow) Signals(dispatcher, &here);
    QObject::connect(dispatcher, &QObject::destroyed, [] { Unwatch(); });
    if (QCoreApplication* app = QCoreApplication::instance();
        app != nullptr && app->thread() == QThread::currentThread())
      QObject::connect(app, &QCoreApplication::aboutToQuit, &LeaveExec);
    if (MarksEvents()) return Loop(here.loop);
    static const bool has_callback =
        QInternal::registerCallback(QInternal::EventNotifyCallback, &EndWaitAtFirstEvent);
    (void)has_callback;
    return Loop(here.loop);
  }
  static void Unwatch() {
    State& here = Here();
    lw_unwatch_loop(here.loop);
    here.loop = nullptr;
    delete here.signals_receiver;
    here.signals_receiver = nullptr;
  }
  // Not watched, if Watch() was not called on this thread.
  static Loop OfThisThread() { return Loop(Here().loop); }

  // "Receiver::Type". Valid until the thread ends.
  static const char* TagOf(const QObject* receiver, const QEvent* event) {
    return FindTag(receiver->metaObject(), event->type());
  }
  // Whether a QtApplication marks each event.
  static bool& MarksEvents() {
    static bool marks = false;
    return marks;
  }

 private:
  struct Tag {
    const QMetaObject* receiver;
    int type;
    char text[32];
  };
  static constexpr size_t kTags = 512;
  static constexpr size_t kTries = 8;
  using Tags = std::array<Tag, kTags>;

  class Signals;
  // Without a destructor: events come as long as there are objects, those of static duration included.
  struct State {
    lw_loop* loop;
    Tags* tags;
    Signals* signals_receiver;  // a child of the dispatcher
  };

  // The dispatcher's signals, which come on its own thread: through the index of a method, as QSignalSpy has
  // them, in two thirds of the time that a connected functor takes.
  class Signals final : public QObject {
   public:
    Signals(QAbstractEventDispatcher* dispatcher, const State* here)
        : QObject(dispatcher),
          here_(here),
          thread_(QThread::currentThread()),
          first_method_(QObject::staticMetaObject.methodCount()) {
      const QMetaObject& dispatchers = QAbstractEventDispatcher::staticMetaObject;
      QMetaObject::connect(dispatcher, dispatchers.indexOfSignal("aboutToBlock()"), this, first_method_,
                           Qt::DirectConnection);
      QMetaObject::connect(dispatcher, dispatchers.indexOfSignal("awake()"), this, first_method_ + kAwake,
                           Qt::DirectConnection);
    }
    int qt_metacall(QMetaObject::Call call, int method, void** arguments) override {
      if (call != QMetaObject::InvokeMetaMethod || method < first_method_)
        return QObject::qt_metacall(call, method, arguments);
      lw_loop* const loop = here_->loop;
      const bool is_idle = lw_loop_is_idle(loop) != 0;
      if (method != first_method_ + kAwake) {
        if (!is_idle) lw_loop_wait_begin(loop);
        return -1;
      }
      if (!is_idle || !MarksEvents() || !IsInExec()) lw_loop_turn(loop, nullptr);
      return -1;
    }
    void LeaveExec() { trusted_ = 0; }

   private:
    static constexpr int kAwake = 1;
    static constexpr unsigned kTrusted = 64;

    // Between the events of exec() nothing of the program's runs, except in loops of its own that call
    // processEvents(). The answer yes is good for some turns: asking costs as much as a read of the clock.
    bool IsInExec() {
      if (trusted_ == 0) trusted_ = thread_->loopLevel() > 0 ? kTrusted : 0;
      if (trusted_ == 0) return false;
      --trusted_;
      return true;
    }

    const State* const here_;  // of the dispatcher's thread
    QThread* const thread_;
    const int first_method_;
    unsigned trusted_ = 0;  // turns
  };

  // The end of a thread.
  struct Ending {
    Ending() = default;
    ~Ending() {
      State& here = Here();
      lw_unwatch_loop(here.loop);
      Tags* tags = here.tags;
      here = {};
      delete tags;
    }
  };

  static bool EndWaitAtFirstEvent(void**) {
    lw_loop_wait_end(Here().loop, nullptr);
    return false;  // it is delivered
  }

  static void LeaveExec() {
    State& here = Here();
    if (here.signals_receiver != nullptr) here.signals_receiver->LeaveExec();
    if (!MarksEvents()) lw_loop_wait_begin(here.loop);  // the code after exec() is in no dispatch
  }

  static State& Here() {
    static thread_local State state;
    return state;
  }

  // A text stays in its place, because it may be the tag of a dispatch under way: what finds no place has
  // none.
  static const char* FindTag(const QMetaObject* receiver, int type) {
    Tags* tags = Here().tags;
    if (tags == nullptr) return nullptr;
    const size_t hash =
        (reinterpret_cast<uintptr_t>(receiver) >> 4) * 31 + static_cast<size_t>(type) * 0x9e3779b1;
    for (size_t i = 0; i < kTries; ++i) {
      Tag& tag = (*tags)[(hash + i) % kTags];
      if (tag.receiver == receiver && tag.type == type) return tag.text;
      if (tag.receiver == nullptr) return Write(receiver, type, &tag);
    }
    return nullptr;
  }
  static const char* Write(const QMetaObject* receiver, int type, Tag* tag) {
    const char* name = QMetaEnum::fromType<QEvent::Type>().valueToKey(type);
    if (name != nullptr)
      std::snprintf(tag->text, sizeof tag->text, "%s::%s", receiver->className(), name);
    else
      std::snprintf(tag->text, sizeof tag->text, "%s::%d", receiver->className(), type);
    tag->receiver = receiver;
    tag->type = type;
    return tag->text;
  }
};

// A QCoreApplication, QGuiApplication or QApplication that marks each event that it delivers.
template <class Application>
class QtApplication : public Application {
 public:
  template <class... Arguments>
  explicit QtApplication(int& count, Arguments&&... arguments)
      : Application(count, std::forward<Arguments>(arguments)...) {
    QtLoop::MarksEvents() = true;
  }

  bool notify(QObject* receiver, QEvent* event) override {
    const Loop loop = QtLoop::OfThisThread();
    if (!loop.is_watched()) return Application::notify(receiver, event);
    ScopedDispatch dispatch(loop, QtLoop::TagOf(receiver, event));
    return Application::notify(receiver, event);
  }
};

}  // namespace lagwatch
