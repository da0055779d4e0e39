// SPDX-License-Identifier: Apache-2.0
// A loop of the kind of Seastar's reactor: it polls without a pause while there is work, and sleeps only when
// no poller has found any. A task runs too long, and so keeps all pollers waiting.
#include <lagwatch/lagwatch.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <thread>

class Reactor {
 public:
  using Task = void (*)(Reactor* reactor);
  void Schedule(Task task) { tasks_.push_back(task); }
  void Stop() { is_stopped_ = true; }
  void Run(lagwatch::Loop loop) {
    while (!is_stopped_) {
      loop.Turn("tasks");
      RunTasks();
      loop.Turn("pollers");
      if (is_stopped_ || Poll(0) || !tasks_.empty()) continue;
      loop.WaitBegin();
      Poll(-1);
    }
    loop.WaitBegin();
  }

 private:
  void RunTasks() {
    for (size_t left = tasks_.size(); left != 0; --left) {
      const Task task = tasks_.front();
      tasks_.pop_front();
      task(this);
    }
  }
  bool Poll(int timeout_ms) const {
    epoll_event event;
    return epoll_wait(epoll_, &event, 1, timeout_ms) > 0;
  }

  std::deque<Task> tasks_;
  int epoll_ = epoll_create1(0);
  bool is_stopped_ = false;
};

int main() {
  auto monitor = lagwatch::Monitor::Start({.app = "reactor-sample"});
  Reactor reactor;
  reactor.Schedule([](Reactor* self) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    self->Stop();
  });
  reactor.Run(monitor.WatchLoop("reactor"));
}
