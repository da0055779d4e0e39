// SPDX-License-Identifier: Apache-2.0
// A program whose loop ends in a deadlock of a mutex and an initializer: a handler has locked the list of
// plugins and needs their index; the thread that builds the index, once, needs the list. After 5 s it gives
// up.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

class Plugins {
 public:
  [[gnu::noinline]] void Add(int plugin) {
    std::lock_guard lock(list_mutex_);
    both_have_one_.arrive_and_wait();
    list_.push_back(plugin);
    Index();
  }
  [[gnu::noinline]] const std::vector<int>& Index() {
    std::call_once(index_once_, [this] { BuildIndex(); });
    return index_;
  }

 private:
  [[gnu::noinline]] void BuildIndex() {
    both_have_one_.arrive_and_wait();
    std::lock_guard lock(list_mutex_);
    index_ = list_;
  }

  std::mutex list_mutex_;
  std::once_flag index_once_;
  std::barrier<> both_have_one_{2};  // before either asks for the other
  std::vector<int> list_;
  std::vector<int> index_;
};

static Plugins g_plugins;

[[gnu::noinline]] static void OnPluginFound() {
  std::thread indexer([] { g_plugins.Index(); });
  pthread_setname_np(indexer.native_handle(), "indexer");
  indexer.detach();
  g_plugins.Add(1);
}

int main() {
  alarm(5);
  constexpr int kTurns = 20;
  int ends[2];
  if (pipe(ends) != 0) return 2;
  pollfd files[2] = {{.fd = ends[0], .events = POLLIN, .revents = 0},
                     {.fd = STDIN_FILENO, .events = 0, .revents = 0}};
  for (int turn = 0;; ++turn) {
    poll(files, 2, 20);
    if (turn == kTurns) OnPluginFound();
  }
}
