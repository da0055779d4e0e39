// SPDX-License-Identifier: Apache-2.0
// A program that freezes in a call that lagwatch stands in front of, for good, while its other threads wait
// in others; or that waits for its child, for three seconds.
//
//   hooked_waits lock|poll|child
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_condition_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
sem_t g_semaphore;
int g_pipe[2];

// Each call is followed by something, so that it is no jump.
[[gnu::noinline]] void HoldAndRead() {
  pthread_mutex_lock(&g_mutex);
  char byte;
  while (read(g_pipe[0], &byte, 1) > 0) asm volatile("");
}
[[gnu::noinline]] void WaitForSignal() {
  pthread_mutex_lock(&g_condition_mutex);
  while (true) pthread_cond_wait(&g_condition, &g_condition_mutex);
}
[[gnu::noinline]] void WaitForSemaphore() {
  while (true) sem_wait(&g_semaphore);
}
[[gnu::noinline]] void WaitBySelect() {
  fd_set reads;
  while (true) {
    FD_ZERO(&reads);
    FD_SET(g_pipe[0], &reads);
    select(g_pipe[0] + 1, &reads, nullptr, nullptr, nullptr);
  }
}

[[gnu::noinline]] void AskHolder() {
  pthread_mutex_lock(&g_mutex);
  asm volatile("");
}
[[gnu::noinline]] void AskService() {
  pollfd answer{.fd = g_pipe[0], .events = POLLIN, .revents = 0};
  poll(&answer, 1, -1);
  asm volatile("");
}

[[gnu::noinline]] void AskChild() {
  char name[] = "sleep";
  char seconds[] = "3";
  char* arguments[] = {name, seconds, nullptr};
  pid_t child = 0;
  posix_spawnp(&child, name, nullptr, nullptr, arguments, environ);
  waitpid(child, nullptr, 0);
  asm volatile("");
}

[[gnu::noinline]] void RunLoop(const std::string& way) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event;
  for (int turn = 0; turn < 20; ++turn) epoll_wait(epoll, &event, 1, 20);
  if (way == "lock") AskHolder();
  if (way == "poll") AskService();
  if (way == "child") AskChild();
  asm volatile("");
}

void Start(const char* name, void (*run)()) {
  std::thread thread(run);
  pthread_setname_np(thread.native_handle(), name);
  thread.detach();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || pipe(g_pipe) != 0 || sem_init(&g_semaphore, 0, 0) != 0) return 2;
  Start("holder", &HoldAndRead);
  Start("signalled", &WaitForSignal);
  Start("posted", &WaitForSemaphore);
  Start("selecting", &WaitBySelect);
  RunLoop(argv[1]);
  return 0;
}
