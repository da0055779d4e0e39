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
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>

namespace lagwatch {

// The loop of the calling thread.
class QtLoop {
 public:
  // Watches it. After the application's constructor; in another thread, once its dispatcher is there: in
  // QThread::run(). It is no longer watched once the dispatcher is gone.
  static Loop Watch(const char* name) {
    QtLoop& self = Here();
    QAbstractEventDispatcher* dispatcher = QAbstractEventDispatcher::instance();
    if (self.loop_.is_watched() || dispatcher == nullptr) return self.loop_;
    self.loop_ = Loop(lw_watch_loop(name));
    if (self.tags_ == nullptr) self.tags_.reset(new (std::nothrow) std::array<Tag, kTags>{});
    // The dispatcher's signals come on its own thread.
    QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, [] { Here().loop_.WaitBegin(); });
    QObject::connect(dispatcher, &QAbstractEventDispatcher::awake, [] { Here().loop_.Turn(); });
    QObject::connect(dispatcher, &QObject::destroyed, [] { Unwatch(); });
    return self.loop_;
  }
  static void Unwatch() {
    QtLoop& self = Here();
    lw_unwatch_loop(self.loop_.handle());
    self.loop_ = Loop();
  }
  // Not watched, if Watch() was not called on this thread.
  static Loop OfThisThread() { return Here().loop_; }

  // "Receiver::Type". Valid as long as the thread.
  static const char* TagOf(const QObject* receiver, const QEvent* event) {
    return Here().FindTag(receiver->metaObject(), event->type());
  }

 private:
  struct Tag {
    const QMetaObject* receiver;
    int type;
    char text[32];
  };
  static constexpr size_t kTags = 512;
  static constexpr size_t kTries = 8;

  static QtLoop& Here() {
    static thread_local QtLoop loop;
    return loop;
  }

  // A text stays in its place, because it may be the tag of a dispatch under way: what finds no place has
  // none.
  const char* FindTag(const QMetaObject* receiver, int type) {
    if (tags_ == nullptr) return nullptr;
    const size_t hash =
        (reinterpret_cast<uintptr_t>(receiver) >> 4) * 31 + static_cast<size_t>(type) * 0x9e3779b1;
    for (size_t i = 0; i < kTries; ++i) {
      Tag& tag = (*tags_)[(hash + i) % kTags];
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

  Loop loop_;
  std::unique_ptr<std::array<Tag, kTags>> tags_;
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
