// SPDX-License-Identifier: Apache-2.0
// A program whose libraries, children and threads come and go all the time:
//
//   churning_program SECONDS LIBRARY
//
// ends with 0 when all of it worked; is killed when something hangs.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_is_over{false};
std::atomic<int> g_failures{0};
std::mutex g_mutex;

void Check(bool is_good) { g_failures += !is_good; }

void LoadAndUnload(const char* path) {
  while (!g_is_over) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    Check(library != nullptr);
    if (library != nullptr) dlclose(library);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void StartThreads() {
  while (!g_is_over) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        const std::string text(100, 'x');
        const std::lock_guard lock(g_mutex);
        std::this_thread::sleep_for(std::chrono::microseconds(text.size()));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

void Fork() {
  for (bool executes = false; !g_is_over; executes = !executes) {
    const pid_t child = fork();
    if (child == 0) {
      if (executes) execl("/bin/true", "true", static_cast<char*>(nullptr));
      _exit(executes ? 127 : 0);
    }
    int status = 0;
    Check(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Spin() {
  while (!g_is_over) {
    const std::lock_guard lock(g_mutex);
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int seconds = std::atoi(argv[1]);
  alarm(static_cast<unsigned>(seconds) + 60);
  std::vector<std::thread> threads;
  threads.emplace_back(LoadAndUnload, argv[2]);
  threads.emplace_back(StartThreads);
  threads.emplace_back(Fork);
  threads.emplace_back(Spin);
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  g_is_over = true;
  for (std::thread& thread : threads) thread.join();
  return g_failures == 0 ? 0 : 1;
}
