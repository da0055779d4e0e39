// SPDX-License-Identifier: Apache-2.0
// An unprepared program: it waits with the given function, freezes once, and waits again.
//
//   wait_loop FUNCTION [FREEZE_MS
//   [thread|fork|deadly|shared|inside|dialog|next|setuid|join|sigwait|pause|exit|worker]]
//
// `thread` does it on a second thread named "worker", `fork` in a forked child. `deadly` installs handlers
// that end the program at SIGUSR1 and SIGUSR2 and then waits for good. `shared` freezes in two functions that
// share a third. `inside` calls a service that does not answer, in a handler of a loop; `dialog` runs the
// same loop in a handler; `next` ends it and runs another one. `setuid` gives up root's privileges before the
// loop. With `join`, `sigwait`, `pause` and `exit` the main thread does that while a worker runs a loop for a
// while and freezes in it; with `worker` the main thread runs a loop, too.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

// Keeps the compiler from knowing how many descriptors there are, so that it calls the checked variants.
volatile nfds_t g_count = 1;

bool Wait(const std::string& function, int epoll) {
  pollfd fds[2] = {{.fd = -1, .events = 0, .revents = 0}, {.fd = -1, .events = 0, .revents = 0}};
  epoll_event events[1];
  timespec soon{.tv_sec = 0, .tv_nsec = 20'000'000};
  timeval soon_too{.tv_sec = 0, .tv_usec = 20'000};
  if (function == "epoll_wait") return epoll_wait(epoll, events, 1, 20) == 0;
  if (function == "epoll_pwait") return epoll_pwait(epoll, events, 1, 20, nullptr) == 0;
  if (function == "epoll_pwait2") return epoll_pwait2(epoll, events, 1, &soon, nullptr) == 0;
  if (function == "poll") return poll(nullptr, 0, 20) == 0;
  if (function == "ppoll") return ppoll(nullptr, 0, &soon, nullptr) == 0;
  if (function == "__poll_chk") return poll(fds, g_count, 20) == 0;
  if (function == "__ppoll_chk") return ppoll(fds, g_count, &soon, nullptr) == 0;
  if (function == "select") return select(0, nullptr, nullptr, nullptr, &soon_too) == 0;
  if (function == "pselect") return pselect(0, nullptr, nullptr, nullptr, &soon, nullptr) == 0;
  return false;
}

[[gnu::noinline]] void FreezeHere(std::chrono::milliseconds duration) {
  auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");  // here, and not in the clock, is where the time goes
  }
  asm volatile("");
}

// Two that freeze in the same function, the first for longer.
[[gnu::noinline]] void LoadHere(std::chrono::milliseconds freeze) {
  FreezeHere(freeze * 2 / 3);
  asm volatile("# load");
}
[[gnu::noinline]] void ClickHere(std::chrono::milliseconds freeze) {
  FreezeHere(freeze / 3);
  asm volatile("# click");
}

[[gnu::noinline]] bool RunLoop(const std::string& function, std::chrono::milliseconds freeze) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  bool all_timed_out = true;
  for (int turn = 0; turn < 4; ++turn) {
    all_timed_out = Wait(function, epoll) && all_timed_out;
    if (turn == 1) FreezeHere(freeze);
  }
  close(epoll);
  return all_timed_out;
}

void Turn(int epoll, int turns) {
  epoll_event events[1];
  for (int turn = 0; turn < turns; ++turn) epoll_wait(epoll, events, 1, 20);
}

[[gnu::noinline]] void AskService(std::chrono::milliseconds freeze) {
  int ends[2];
  if (pipe(ends) != 0) return;
  pollfd answer{.fd = ends[0], .events = POLLIN, .revents = 0};
  poll(&answer, 1, static_cast<int>(freeze.count()));
  close(ends[0]);
  close(ends[1]);
}

[[gnu::noinline]] void ShowDialog(int epoll, std::chrono::milliseconds freeze) {
  Turn(epoll, static_cast<int>(freeze.count() / 20));
  asm volatile("");
}

[[gnu::noinline]] void RunNext(std::chrono::milliseconds freeze) {
  volatile char deep[1024];
  deep[0] = 1;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event events[1];
  epoll_wait(epoll, events, 1, static_cast<int>(freeze.count()));
  close(epoll);
}

void RunLoopOf(const std::string& what, std::chrono::milliseconds freeze) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  Turn(epoll, 10);
  if (what == "inside") AskService(freeze);
  if (what == "dialog") ShowDialog(epoll, freeze);
  if (what != "next") Turn(epoll, 10);
  close(epoll);
  if (what == "next") RunNext(freeze);
}

// A loop that is idle most of the time, freezes, and ends the program.
[[noreturn]] void RunWorker(std::chrono::milliseconds freeze) {
  pthread_setname_np(pthread_self(), "worker");
  for (int turn = 0; turn < 40; ++turn) {
    poll(nullptr, 0, 20);
    if (turn == 30) FreezeHere(freeze);
  }
  std::puts("good");
  std::fflush(stdout);
  _exit(0);
}

[[noreturn]] void WaitForWorker(const std::string& way, std::chrono::milliseconds freeze) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread worker(&RunWorker, freeze);
  if (way == "exit") {
    worker.detach();
    pthread_exit(nullptr);
  }
  if (way == "join") worker.join();
  int number = 0;
  while (way == "sigwait") sigwait(&signals, &number);
  while (way == "pause") pause();
  while (true) poll(nullptr, 0, 20);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::string function = argv[1];
  std::chrono::milliseconds freeze(argc > 2 ? std::atoi(argv[2]) : 0);
  std::string where = argc > 3 ? argv[3] : "";
  bool is_good = false;
  if (where == "deadly") {
    poll(nullptr, 0, 1);
    for (int number : {SIGUSR1, SIGUSR2}) std::signal(number, [](int) { _exit(3); });
    poll(nullptr, 0, 50);
    std::puts("waiting");
    std::fflush(stdout);
    while (true) poll(nullptr, 0, -1);
  }
  if (where == "shared") {
    for (int turn = 0; turn < 3; ++turn) poll(nullptr, 0, 1);
    LoadHere(freeze);
    ClickHere(freeze);
    poll(nullptr, 0, 1);
    return 0;
  }
  for (const char* what : {"inside", "dialog", "next"}) {
    if (where != what) continue;
    RunLoopOf(where, freeze);
    return 0;
  }
  constexpr uid_t kNobody = 65534;
  if (where == "setuid" && setuid(kNobody) != 0) return 1;
  for (const char* way : {"join", "sigwait", "pause", "exit", "worker"}) {
    if (where == way) WaitForWorker(where, freeze);
  }
  if (where == "thread") {
    std::thread worker([&] {
      pthread_setname_np(pthread_self(), "worker");
      is_good = RunLoop(function, freeze);
    });
    worker.join();
  } else if (where == "fork") {
    pid_t child = fork();
    if (child == 0) return RunLoop(function, freeze) ? 0 : 1;
    int status = 0;
    is_good = waitpid(child, &status, 0) == child && status == 0;
  } else {
    is_good = RunLoop(function, freeze);
  }
  std::puts(is_good ? "good" : "a wait failed");
  return is_good ? 0 : 1;
}
