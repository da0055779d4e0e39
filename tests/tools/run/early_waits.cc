// SPDX-License-Identifier: Apache-2.0
// Polls a few times, and then waits in another call, which is a freeze of a loop or a program's idleness.
// Prints "good" at its end.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

constexpr int kWaitMs = 700;

int g_ends[2];  // of a pair of sockets, neither of which the loop polls
int g_polled[2][2];
char g_path[] = "/tmp/early_waits.XXXXXX";
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
bool g_is_done = false;

void PauseMs(int ms) {
  timespec rest{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000L};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

int OpenFile() { return open(g_path, O_RDWR | O_CLOEXEC); }

// Holds both locks, and ends every other wait after a while.
void* EndWaits(void* is_ready) {
  pthread_rwlock_wrlock(&g_rwlock);
  const int file = OpenFile();
  flock(file, LOCK_EX);
  if (write(*static_cast<int*>(is_ready), "x", 1) != 1) abort();
  PauseMs(kWaitMs);
  pthread_rwlock_unlock(&g_rwlock);
  close(file);
  if (write(g_ends[1], "x", 1) != 1 || write(g_polled[0][1], "x", 1) != 1) abort();
  pthread_mutex_lock(&g_mutex);
  g_is_done = true;
  pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
  return nullptr;
}

bool g_is_joined = false;
bool g_is_for_good = false;

[[gnu::noinline]] void WaitHere(const std::string& kind, pthread_t helper) {
  char byte;
  if (kind == "rwlock") {
    pthread_rwlock_rdlock(&g_rwlock);
    pthread_rwlock_unlock(&g_rwlock);
  } else if (kind == "flock") {
    const int file = OpenFile();
    while (flock(file, LOCK_EX) != 0) {
    }
    close(file);
  } else if (kind == "child") {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // the test kills its parent
      PauseMs(g_is_for_good ? INT_MAX : kWaitMs);
      _exit(0);
    }
    while (waitpid(child, nullptr, 0) != child) {
    }
  } else if (kind == "recv") {
    if (recv(g_ends[0], &byte, 1, 0) != 1) abort();
  } else if (kind == "recv-polled") {
    if (recv(g_polled[0][0], &byte, 1, 0) != 1) abort();
  } else if (kind == "nap") {
    PauseMs(kWaitMs);
  } else if (kind == "poll-nothing") {
    poll(nullptr, 0, kWaitMs);
  } else if (kind == "poll-another") {
    pollfd answer = {g_ends[0], POLLIN, 0};
    if (poll(&answer, 1, -1) != 1) abort();
  } else if (kind == "condition") {
    pthread_mutex_lock(&g_mutex);
    while (!g_is_done) pthread_cond_wait(&g_condition, &g_mutex);
    pthread_mutex_unlock(&g_mutex);
  } else if (kind == "join") {
    pthread_join(helper, nullptr);
    g_is_joined = true;
  } else {
    abort();
  }
  asm volatile("");
}

// Waits in `kind` afterwards, unless it is empty.
[[gnu::noinline]] void Poll(int times, int descriptors, const std::string& kind = "") {
  pollfd set[2] = {{g_polled[0][0], POLLIN, 0}, {g_polled[1][0], POLLIN, 0}};
  for (int i = 0; i < times; ++i) poll(set, static_cast<nfds_t>(descriptors), 5);
  if (!kind.empty()) WaitHere(kind, {});
  asm volatile("");
}

}  // namespace

// KIND, how often it polls before, how many descriptors, how often it polls afterwards. With one more
// argument it waits for good: "inside" in a function that the polling one calls.
int main(int count, char** arguments) {
  if (count < 5) return 2;
  const std::string kind = arguments[1];
  const int descriptors = atoi(arguments[3]);
  int ready[2];
  close(mkstemp(g_path));
  if (pipe(ready) != 0) return 2;
  for (int* pair : {g_ends, g_polled[0], g_polled[1]}) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 2;
  }
  if (count > 5) {
    g_is_for_good = true;
    unlink(g_path);
    puts("waiting");
    fflush(stdout);
    if (std::string(arguments[5]) == "inside") Poll(atoi(arguments[2]), descriptors, kind);
  }
  Poll(atoi(arguments[2]), descriptors);
  if (g_is_for_good) WaitHere(kind, {});
  pthread_t helper;
  pthread_create(&helper, nullptr, EndWaits, &ready[1]);
  char byte;
  if (read(ready[0], &byte, 1) != 1) return 2;
  WaitHere(kind, helper);
  Poll(atoi(arguments[4]), descriptors);
  if (!g_is_joined) pthread_join(helper, nullptr);
  unlink(g_path);
  puts("good");
  return 0;
}
