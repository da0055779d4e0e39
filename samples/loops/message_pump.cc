// SPDX-License-Identifier: Apache-2.0
// A loop of the kind of Chromium's message pump: tasks with the place that posted them, and loops that a task
// runs itself, as a dialog does. The dialog's wait is no hang; the task after it is one.
#include <lagwatch/lagwatch.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

using std::chrono::milliseconds;

struct Task {
  const char* posted_from;
  std::function<void()> run;
};

class MessagePump {
 public:
  explicit MessagePump(lagwatch::Loop loop) : loop_(loop) {}
  void Post(Task task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    is_woken_.notify_one();
  }
  // May be called in a task.
  void Run() {
    for (;;) {
      loop_.WaitBegin();
      const Task task = Wait();
      loop_.WaitEnd();
      if (task.run == nullptr) return;
      lagwatch::ScopedDispatch dispatch(loop_, task.posted_from);
      task.run();
    }
  }
  void Quit() { Post({"quit", nullptr}); }

 private:
  Task Wait() {
    std::unique_lock lock(mutex_);
    is_woken_.wait(lock, [this] { return !tasks_.empty(); });
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  lagwatch::Loop loop_;
  std::mutex mutex_;
  std::condition_variable is_woken_;
  std::deque<Task> tasks_;
};

int main() {
  auto monitor = lagwatch::Monitor::Start({.app = "message-pump-sample"});
  MessagePump pump(monitor.WatchLoop("ui"));
  std::thread closer;
  pump.Post({"OpenDialog", [&] {
               closer = std::thread([&] {
                 std::this_thread::sleep_for(milliseconds(3000));
                 pump.Quit();
               });
               pump.Run();
               pump.Post({"LoadPage", [&] {
                            std::this_thread::sleep_for(milliseconds(3000));
                            pump.Quit();
                          }});
             }});
  pump.Run();
  closer.join();
}
