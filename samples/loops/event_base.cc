// SPDX-License-Identifier: Apache-2.0
// A loop of the kind of folly's EventBase: functions that other threads add, and a wait by poll(). Each
// function is named by its address.
#include <lagwatch/lagwatch.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

using Function = void (*)();

class EventBase {
 public:
  void Add(Function function) {
    const std::lock_guard lock(mutex_);
    functions_.push_back(function);
    eventfd_write(wake_, 1);
  }
  void Stop() { Add(nullptr); }
  void Run(lagwatch::Loop loop) {
    for (;;) {
      loop.WaitBegin();
      Wait();
      loop.WaitEnd();
      for (Function function : TakeAll()) {
        if (function == nullptr) return loop.WaitBegin();
        lagwatch::ScopedDispatch dispatch(loop, lw_function_tag(reinterpret_cast<uintptr_t>(function)));
        function();
      }
    }
  }

 private:
  void Wait() const {
    pollfd descriptor{wake_, POLLIN, 0};
    poll(&descriptor, 1, -1);
    eventfd_t count = 0;
    eventfd_read(wake_, &count);
  }
  std::deque<Function> TakeAll() {
    const std::lock_guard lock(mutex_);
    return std::exchange(functions_, {});
  }

  std::mutex mutex_;
  std::deque<Function> functions_;
  int wake_ = eventfd(0, 0);
};

extern "C" void WriteJournal() { std::this_thread::sleep_for(std::chrono::milliseconds(3000)); }

int main() {
  auto monitor = lagwatch::Monitor::Start({.app = "event-base-sample"});
  EventBase base;
  std::thread other([&] {
    base.Add(&WriteJournal);
    base.Stop();
  });
  base.Run(monitor.WatchLoop("main"));
  other.join();
}
