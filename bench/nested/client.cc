// SPDX-License-Identifier: Apache-2.0
// A client that asks a server at one socket, for clients.py: it polls the socket per request, before its loop
// begins and in the loop's handlers.
//
//   client REQUESTS FROM LOOP TURNS WHAT
//
// REQUESTS are made before the loop, FROM `inline`, `helper`, `deep`, `places`, `coroutine` or `two` servers.
// The LOOP is `none`, or `one` or `many` descriptors' in main(), or `inner-one` or `inner-many` in a deeper
// call. After TURNS it does WHAT takes 700 ms, and turns 5 times more:
//   ask, nap, recv, child   in a handler: a hang
//   idle, dialog, pace      waits in the loop, in a loop of its handler's, or between requests
//   pause                   waits for a signal in main(), and ends
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

constexpr int kLongMs = 700;
constexpr char kEnd = 'e';

int g_servers[3];  // the last one says nothing by itself
int g_display;
int g_wake;
std::string g_from;

void PauseMs(int ms) {
  timespec rest{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000L};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

// Answers each byte after so many tenths of a second, at least 2 ms.
void* Serve(void* end) {
  const int socket = static_cast<int>(reinterpret_cast<intptr_t>(end));
  char tenths;
  while (read(socket, &tenths, 1) == 1 && tenths != kEnd) {
    PauseMs(tenths == 0 ? 2 : tenths * 100);
    if (write(socket, "x", 1) != 1) break;
  }
  return nullptr;
}

int Connect() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) exit(2);
  pthread_t thread;
  pthread_create(&thread, nullptr, Serve, reinterpret_cast<void*>(intptr_t{ends[1]}));
  return ends[0];
}

[[gnu::always_inline]] inline void Poll(int descriptor, char tenths) {
  pollfd set = {descriptor, POLLIN, 0};
  char byte = tenths;
  if (write(descriptor, &byte, 1) != 1) exit(2);
  if (poll(&set, 1, 5000) != 1 || read(descriptor, &byte, 1) != 1) exit(2);
  asm volatile("");
}
[[gnu::noinline]] void Ask(int server, char tenths) { Poll(g_servers[server], tenths); }
[[gnu::noinline]] void AskElsewhere(int server, char tenths) { Poll(g_servers[server], tenths); }
[[gnu::noinline]] void AskDeep(int depth, char tenths) {
  volatile char room[200];
  room[0] = static_cast<char>(depth);
  depth == 0 ? Ask(0, tenths) : AskDeep(depth - 1, tenths);
  room[1] = room[0];
}
ucontext_t g_caller;
ucontext_t g_coroutine;
void AskOnce() { Ask(0, 0); }
void AskInCoroutine() {
  static char stack[256 << 10];
  getcontext(&g_coroutine);
  g_coroutine.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  g_coroutine.uc_link = &g_caller;
  makecontext(&g_coroutine, AskOnce, 0);
  swapcontext(&g_caller, &g_coroutine);
}

void Request(int i) {
  if (g_from == "deep") return AskDeep(i % 4, 0);
  if (g_from == "places") return i % 2 == 0 ? Ask(0, 0) : AskElsewhere(0, 0);
  if (g_from == "two") return i % 2 == 0 ? Ask(0, 0) : AskElsewhere(1, 0);
  if (g_from == "coroutine") return AskInCoroutine();
  Ask(0, 0);
}

[[gnu::noinline]] void Turn(bool is_many, int ms) {
  pollfd set[2] = {{g_display, POLLIN, 0}, {g_wake, POLLIN, 0}};
  poll(set, is_many ? 2 : 1, ms);
  asm volatile("");
}

void WaitForChild() {
  const pid_t child = fork();
  if (child == 0) {
    PauseMs(kLongMs);
    _exit(0);
  }
  while (waitpid(child, nullptr, 0) != child) {
  }
}

[[gnu::noinline]] void Handle(const std::string& what, bool is_many) {
  volatile char room[300];
  room[0] = 0;
  char byte = 7;
  if (what == "ask") Ask(0, byte);
  if (what == "nap") PauseMs(kLongMs);
  if (what == "child") WaitForChild();
  if (what == "recv" && (write(g_servers[2], &byte, 1) != 1 || read(g_servers[2], &byte, 1) != 1)) exit(2);
  if (what == "dialog") {
    for (int i = 0; i < 2; ++i) Turn(is_many, kLongMs / 2);
  }
  room[1] = room[0];
}

[[gnu::noinline]] void Run(bool is_many, int turns, const std::string& what) {
  for (int i = 0; i < turns; ++i) Turn(is_many, 5);
  what == "idle" ? Turn(is_many, kLongMs) : Handle(what, is_many);
  if (what == "idle") Turn(is_many, kLongMs);
  for (int i = 0; i < 5; ++i) Turn(is_many, 5);
}
[[gnu::noinline]] void RunInside(bool is_many, int turns, const std::string& what) {
  volatile char room[600];
  room[0] = 0;
  Run(is_many, turns, what);
  room[1] = room[0];
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const int requests = atoi(arguments[1]);
  g_from = arguments[2];
  const std::string loop = arguments[3];
  const int turns = atoi(arguments[4]);
  const std::string what = arguments[5];
  for (int& server : g_servers) server = Connect();
  g_display = Connect();
  g_wake = Connect();
  if (g_from == "inline") {
    for (int i = 0; i < requests; ++i) Poll(g_servers[0], 0);
  } else {
    for (int i = 0; i < requests; ++i) Request(i);
  }
  const bool is_many = loop.ends_with("many");
  if (loop != "none") {
    (loop.starts_with("inner") ? RunInside : Run)(is_many, turns, what);
  } else if (what == "pace") {
    for (int i = 0; i < 4; ++i) {
      PauseMs(kLongMs);
      Request(i);
    }
  } else if (what == "pause") {
    signal(SIGALRM, [](int) {});
    alarm(1);
    pause();
  } else if (what == "ask") {
    Ask(0, 7);
    Ask(0, 0);
  }
  return 0;
}
