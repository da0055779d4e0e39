// SPDX-License-Identifier: Apache-2.0
// An unprepared program to attach to. It prints "ready" and its end's result on stdin's end.
//
//   attached_program loop|spin|futex|waiting|locked
//
// `loop` waits by poll(2), and is frozen for 600 ms by each line on its input. `spin` computes for good in
// the main thread. `futex` runs the loop of `loop` on a second thread, while the main thread waits for it;
// with `waiting` it waits for a semaphore that SIGUSR1 posts. `locked` waits for ever for a mutex that a
// second thread keeps.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace {

sem_t g_is_over;

[[gnu::noinline]] void FreezeForAWhile() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
  }
  asm volatile("");
}

void* RunLoop(void*) {
  char line[64];
  while (true) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = poll(&input, 1, 20);
    if (ready < 0) return const_cast<char*>("a wait failed");
    if (ready == 0) continue;
    if (read(STDIN_FILENO, line, sizeof line) <= 0) return const_cast<char*>("good");
    FreezeForAWhile();
    std::puts("froze");
    std::fflush(stdout);
  }
}

pthread_mutex_t g_kept = PTHREAD_MUTEX_INITIALIZER;

void* KeepMutex(void* is_kept) {
  pthread_mutex_lock(&g_kept);
  sem_post(static_cast<sem_t*>(is_kept));
  while (true) pause();
}

[[gnu::noinline]] void WaitForMutex() {
  sem_t is_kept;
  sem_init(&is_kept, 0, 0);
  pthread_t keeper;
  pthread_create(&keeper, nullptr, &KeepMutex, &is_kept);
  sem_wait(&is_kept);
  pthread_mutex_lock(&g_kept);
  asm volatile("");
}

}  // namespace

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "loop";
  sem_init(&g_is_over, 0, 0);
  struct sigaction post {};
  post.sa_handler = [](int) { sem_post(&g_is_over); };
  post.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &post, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  volatile bool is_spinning = std::strcmp(way, "spin") == 0;
  while (is_spinning) asm volatile("");
  if (std::strcmp(way, "locked") == 0) WaitForMutex();
  if (std::strcmp(way, "waiting") == 0) {
    while (sem_wait(&g_is_over) != 0) std::puts("interrupted");
    std::puts("good");
    return 0;
  }
  void* result = nullptr;
  if (std::strcmp(way, "futex") == 0) {
    pthread_t worker;
    pthread_create(&worker, nullptr, &RunLoop, nullptr);
    pthread_join(worker, &result);
  } else {
    result = RunLoop(nullptr);
  }
  std::puts(static_cast<const char*>(result));
  return std::strcmp(static_cast<const char*>(result), "good") == 0 ? 0 : 1;
}
