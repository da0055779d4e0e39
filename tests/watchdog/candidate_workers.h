// SPDX-License-Identifier: Apache-2.0
// Work of threads that share an object. The test compiles it as it is itself, without optimization,
// candidate_workers.cc with it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace lagwatch::watchdog {

struct Channel {
  std::mutex mutex;
  std::condition_variable condition;
  bool is_ready = false;
};

struct CandidateWorkers {
  void (*touch)(Channel* channel);  // and leaves it
  // Sleeps before it gives the signal.
  void (*produce)(Channel* channel, const std::atomic<bool>* is_over);
  void (*consume)(Channel* channel);
  void (*write_event)(int event, const std::atomic<bool>* is_over);
  void (*sleep)(const std::atomic<bool>* is_over);
};

template <typename Tag>
struct WorkersOf {
  [[gnu::noinline]] static void Touch(Channel* channel) {
    std::lock_guard lock(channel->mutex);
    channel->condition.notify_all();
  }
  [[gnu::noinline]] static void Sleep(const std::atomic<bool>* is_over) {
    while (!*is_over) usleep(1000);
  }
  [[gnu::noinline]] static void Produce(Channel* channel, const std::atomic<bool>* is_over) {
    Sleep(is_over);
    std::lock_guard lock(channel->mutex);
    channel->is_ready = true;
    channel->condition.notify_all();
  }
  [[gnu::noinline]] static void Consume(Channel* channel) {
    std::unique_lock lock(channel->mutex);
    while (!channel->is_ready) channel->condition.wait(lock);
  }
  [[gnu::noinline]] static void WriteEvent(int event, const std::atomic<bool>* is_over) {
    Sleep(is_over);
    const uint64_t one = 1;
    static_cast<void>(!write(event, &one, sizeof one));
  }
  static CandidateWorkers All() { return {Touch, Produce, Consume, WriteEvent, Sleep}; }
};

CandidateWorkers OptimizedWorkers();

}  // namespace lagwatch::watchdog
