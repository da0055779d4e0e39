// SPDX-License-Identifier: Apache-2.0
// Measures how long tasks wait in an executor that cannot be changed: posts an empty task again and again;
// one that waits longer than the loop's threshold is reported (kind "waited").
//
//   lagwatch::QueuePing ping(loop, [&](std::function<void()> task) { executor.Post(std::move(task)); });
#pragma once

#include <lagwatch/lagwatch.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace lagwatch {

// Posts from a thread of its own, every `period`, but no ping before the last one has run. Keep it, and the
// executor, no longer than the loop is watched. A ping that the executor drops counts as run.
class QueuePing {
 public:
  // Puts a task into the queue; called on the pinging thread. An exception counts as "not posted".
  using Post = std::function<void(std::function<void()> task)>;

  QueuePing(Loop loop, Post post, std::chrono::milliseconds period = std::chrono::seconds(1)) noexcept
      : loop_(loop), post_(std::move(post)), period_(period) {
    // This thread handles none of the application's signals.
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    // A std::thread that cannot be started throws, also in programs that are built without exceptions.
    has_thread_ = pthread_create(&thread_, nullptr, &Main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  ~QueuePing() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    if (has_thread_) pthread_join(thread_, nullptr);
  }
  QueuePing(const QueuePing&) = delete;
  QueuePing& operator=(const QueuePing&) = delete;

 private:
  // Counts as queued while it lives. The task owns it, so that it ends when the task has run or is dropped.
  class Ping {
   public:
    explicit Ping(Loop loop) noexcept : loop_(loop) { loop_.NoteQueued(); }
    ~Ping() { loop_.NoteRun(); }
    Ping(const Ping&) = delete;
    Ping& operator=(const Ping&) = delete;

   private:
    Loop loop_;
  };

  static void* Main(void* ping) {
    static_cast<QueuePing*>(ping)->Run();
    return nullptr;
  }
  void Run() noexcept {
    std::weak_ptr<Ping> last;
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      lock.unlock();
      if (last.expired()) last = TryPost();
      lock.lock();
      wake_.wait_for(lock, period_, [this] { return is_stopping_; });
    }
  }
  std::weak_ptr<Ping> TryPost() noexcept {
#ifdef __cpp_exceptions
    try {
      return PostPing();
    } catch (...) {
      return {};
    }
#else
    return PostPing();
#endif
  }
  std::weak_ptr<Ping> PostPing() {
    auto ping = std::make_shared<Ping>(loop_);
    std::weak_ptr<Ping> watched = ping;
    // Running it ends the ping, even if the executor keeps the task for longer.
    post_([owned = std::move(ping)]() mutable { owned.reset(); });
    return watched;
  }

  const Loop loop_;
  const Post post_;
  const std::chrono::milliseconds period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  pthread_t thread_{};
  bool has_thread_ = false;
};

}  // namespace lagwatch
