// SPDX-License-Identifier: Apache-2.0
// Watches the loops of Qt 5 and 6. Header only: needs QtCore's headers, and lagwatch needs no Qt.
//
//   lagwatch::QtApplication<QApplication> app(argc, argv);  // in the place of QApplication
//   lagwatch::QtLoop::Watch("ui");
//
// A wait begins when the thread's event dispatcher is about to block, and ends with the first event that is
// delivered, so nested and modal loops are no hangs. Each event is a dispatch with the tag "Receiver::Type".
// Other threads with a loop of their own call QtLoop::Watch() in QThread::run(). Without QtApplication there
// are no tags.
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
    // The dispatcher's signals come on its own thread.
    using Dispatcher = QAbstractEventDispatcher;
    QObject::connect(dispatcher, &Dispatcher::aboutToBlock, [] { lw_loop_wait_begin(Here().loop); });
    QObject::connect(dispatcher, &Dispatcher::awake, [] { lw_loop_turn(Here().loop, nullptr); });
    QObject::connect(dispatcher, &QObject::destroyed, [] { Unwatch(); });
    // The code after exec() is in no dispatch.
    if (QCoreApplication* app = QCoreApplication::instance();
        app != nullptr && app->thread() == QThread::currentThread())
      QObject::connect(app, &QCoreApplication::aboutToQuit, [] { lw_loop_wait_begin(Here().loop); });
    return Loop(here.loop);
  }
  static void Unwatch() {
    lw_unwatch_loop(Here().loop);
    Here().loop = nullptr;
  }
  // Not watched, if Watch() was not called on this thread.
  static Loop OfThisThread() { return Loop(Here().loop); }

  // "Receiver::Type". Valid until the thread ends.
  static const char* TagOf(const QObject* receiver, const QEvent* event) {
    return FindTag(receiver->metaObject(), event->type());
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

  // Without a destructor: events come as long as there are objects, those of static duration included.
  struct State {
    lw_loop* loop;
    Tags* tags;
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
  using Application::Application;

  bool notify(QObject* receiver, QEvent* event) override {
    const Loop loop = QtLoop::OfThisThread();
    if (!loop.is_watched()) return Application::notify(receiver, event);
    ScopedDispatch dispatch(loop, QtLoop::TagOf(receiver, event));
    return Application::notify(receiver, event);
  }
};

}  // namespace lagwatch
