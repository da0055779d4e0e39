// SPDX-License-Identifier: Apache-2.0
// A program whose threads do not return from their waits: they are cancelled, or a signal handler jumps or
// throws out of them.
//
//   unwound_waits cancel           cancels a thread in each function that waits, and prints how that ended
//   unwound_waits jump|throw MS    leaves polls by a signal handler, goes on to poll, and freezes for MS once
//   unwound_waits storm MS         leaves short polls anywhere, and freezes for MS after the next one, 12
//   times
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace {

volatile nfds_t g_count = 1;  // keeps the compiler from knowing, so that it calls the checked variants

// The objects that the functions wait for; none of them is ever ready.
struct Things {
  Things() {
    (void)!pipe(pipe_fds);
    char bytes[4096] = {};
    (void)!pipe(full_pipe_fds);
    fcntl(full_pipe_fds[1], F_SETFL, O_NONBLOCK);
    while (write(full_pipe_fds[1], bytes, sizeof bytes) > 0) {
    }
    fcntl(full_pipe_fds[1], F_SETFL, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    socketpair(AF_UNIX, SOCK_STREAM, 0, full_sockets);
    while (send(full_sockets[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "unwound-waits-%d", getpid());
    bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener, 1);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    sem_init(&semaphore, 0, 0);
    pthread_mutex_init(&mutex, nullptr);
    pthread_cond_init(&condition, nullptr);
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += 100;
    clock_gettime(CLOCK_MONOTONIC, &later_mono);
    later_mono.tv_sec += 100;
    pthread_create(
        &other, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  }

  ~Things() {
    for (int fd : {pipe_fds[0], pipe_fds[1], full_pipe_fds[0], full_pipe_fds[1], sockets[0], sockets[1],
                   full_sockets[0], full_sockets[1], listener, epoll})
      close(fd);
    pthread_join(other, nullptr);
  }
  Things(const Things&) = delete;
  Things& operator=(const Things&) = delete;

  int pipe_fds[2], full_pipe_fds[2], sockets[2], full_sockets[2], listener, epoll;
  sem_t semaphore;
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  pthread_t other;
  timespec later, later_mono;
};

struct Case {
  const char* name;
  std::function<void(Things*)> wait;
  bool is_async_safe;  // practically: cancelled anywhere in it, it leaves nothing behind
};

void AddWaits(std::vector<Case>* cases) {
  static const timespec kLong{100, 0};
  auto add = [&](const char* name, std::function<void(Things*)> wait) {
    cases->push_back({name, std::move(wait), true});
  };
  add("poll", [](Things*) { poll(nullptr, 0, -1); });
  add("ppoll", [](Things*) { ppoll(nullptr, 0, &kLong, nullptr); });
  add("__poll_chk", [](Things*) {
    pollfd fds[2] = {{-1, 0, 0}, {-1, 0, 0}};
    poll(fds, g_count, -1);
  });
  add("__ppoll_chk", [](Things*) {
    pollfd fds[2] = {{-1, 0, 0}, {-1, 0, 0}};
    ppoll(fds, g_count, &kLong, nullptr);
  });
  add("select", [](Things*) { select(0, nullptr, nullptr, nullptr, nullptr); });
  add("pselect", [](Things*) { pselect(0, nullptr, nullptr, nullptr, &kLong, nullptr); });
  add("epoll_wait", [](Things* things) {
    epoll_event events[1];
    epoll_wait(things->epoll, events, 1, -1);
  });
  add("epoll_pwait", [](Things* things) {
    epoll_event events[1];
    epoll_pwait(things->epoll, events, 1, -1, nullptr);
  });
  add("epoll_pwait2", [](Things* things) {
    epoll_event events[1];
    epoll_pwait2(things->epoll, events, 1, &kLong, nullptr);
  });
  add("nanosleep", [](Things*) { nanosleep(&kLong, nullptr); });
  add("clock_nanosleep", [](Things*) { clock_nanosleep(CLOCK_MONOTONIC, 0, &kLong, nullptr); });
  add("usleep", [](Things*) { usleep(100'000'000); });
  add("sleep", [](Things*) { sleep(100); });
}

void AddTransfers(std::vector<Case>* cases) {
  static char bytes[4096];
  static volatile size_t g_size = sizeof bytes;
  static iovec vector{bytes, sizeof bytes};
  auto add = [&](const char* name, std::function<void(Things*)> wait) {
    cases->push_back({name, std::move(wait), true});
  };
  add("read", [](Things* things) { (void)!read(things->pipe_fds[0], bytes, sizeof bytes); });
  add("__read_chk", [](Things* things) { (void)!read(things->pipe_fds[0], bytes, g_size); });
  add("write", [](Things* things) { (void)!write(things->full_pipe_fds[1], bytes, sizeof bytes); });
  add("readv", [](Things* things) { (void)!readv(things->pipe_fds[0], &vector, 1); });
  add("writev", [](Things* things) { (void)!writev(things->full_pipe_fds[1], &vector, 1); });
  add("recv", [](Things* things) { recv(things->sockets[0], bytes, sizeof bytes, 0); });
  add("recvfrom",
      [](Things* things) { recvfrom(things->sockets[0], bytes, sizeof bytes, 0, nullptr, nullptr); });
  add("recvmsg", [](Things* things) {
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    recvmsg(things->sockets[0], &message, 0);
  });
  add("send", [](Things* things) { send(things->full_sockets[0], bytes, sizeof bytes, 0); });
  add("sendto", [](Things* things) { sendto(things->full_sockets[0], bytes, sizeof bytes, 0, nullptr, 0); });
  add("sendmsg", [](Things* things) {
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    sendmsg(things->full_sockets[0], &message, 0);
  });
  add("accept", [](Things* things) { accept(things->listener, nullptr, nullptr); });
  add("accept4", [](Things* things) { accept4(things->listener, nullptr, nullptr, SOCK_CLOEXEC); });
}

void AddLocks(std::vector<Case>* cases) {
  auto add = [&](const char* name, std::function<void(Things*)> wait) {
    cases->push_back({name, std::move(wait), false});
  };
  auto hold = [](Things* things, const std::function<void()>& wait) {
    pthread_mutex_lock(&things->mutex);
    pthread_cleanup_push([](void* mutex) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex)); },
                         &things->mutex);
    wait();
    pthread_cleanup_pop(1);
  };
  add("sem_wait", [](Things* things) { sem_wait(&things->semaphore); });
  add("sem_timedwait", [](Things* things) { sem_timedwait(&things->semaphore, &things->later); });
  add("sem_clockwait",
      [](Things* things) { sem_clockwait(&things->semaphore, CLOCK_MONOTONIC, &things->later_mono); });
  add("pthread_cond_wait", [hold](Things* things) {
    hold(things, [=] { pthread_cond_wait(&things->condition, &things->mutex); });
  });
  add("pthread_cond_timedwait", [hold](Things* things) {
    hold(things, [=] { pthread_cond_timedwait(&things->condition, &things->mutex, &things->later); });
  });
  add("pthread_cond_clockwait", [hold](Things* things) {
    hold(things, [=] {
      pthread_cond_clockwait(&things->condition, &things->mutex, CLOCK_MONOTONIC, &things->later_mono);
    });
  });
  add("pthread_join", [](Things*) {
    pthread_t sleeper;
    pthread_create(
        &sleeper, nullptr, [](void*) -> void* { return reinterpret_cast<void*>(pause()); }, nullptr);
    pthread_join(sleeper, nullptr);
  });
}

struct Waiter {
  const Case* wait;
  Things* things;
  int type;
  std::atomic<bool> is_waiting{false};
  int cleanups = 0;
};

// Actions that are allowed in a cleanup handler: waits, in several functions.
void CleanUp(void* context) {
  auto* waiter = static_cast<Waiter*>(context);
  timespec soon{0, 1'000'000};
  poll(nullptr, 0, 1);
  nanosleep(&soon, nullptr);
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  sem_wait(&semaphore);
  ++waiter->cleanups;
}

void* RunWaiter(void* context) {
  auto* waiter = static_cast<Waiter*>(context);
  pthread_cleanup_push(CleanUp, context);
  // A thread's name is looked at in its first waits.
  for (int i = 0; i < 2; ++i) poll(nullptr, 0, 0);
  waiter->is_waiting.store(true);
  pthread_setcanceltype(waiter->type, nullptr);
  waiter->wait->wait(waiter->things);
  pthread_cleanup_pop(0);
  return nullptr;
}

bool CancelIn(const Case& wait, int type) {
  Things things;
  Waiter waiter{&wait, &things, type};
  pthread_t thread;
  pthread_create(&thread, nullptr, RunWaiter, &waiter);
  while (!waiter.is_waiting.load()) sched_yield();
  for (int i = 0; i < 5; ++i) usleep(1'000);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED && waiter.cleanups == 1;
}

int Cancel() {
  std::vector<Case> cases;
  AddWaits(&cases);
  AddTransfers(&cases);
  AddLocks(&cases);
  bool is_good = true;
  for (const Case& wait : cases) {
    for (int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
      if (type == PTHREAD_CANCEL_ASYNCHRONOUS && !wait.is_async_safe) continue;
      const bool is_cancelled = CancelIn(wait, type);
      is_good = is_good && is_cancelled;
      std::printf("%s %s: %s\n", wait.name, type == PTHREAD_CANCEL_DEFERRED ? "deferred" : "asynchronous",
                  is_cancelled ? "cancelled" : "not cancelled");
    }
  }
  return is_good ? 3 : 1;
}

sigjmp_buf g_outside;
struct Thrown {};
volatile sig_atomic_t g_throws = 0;

void LeaveWait(int) {
  if (g_throws != 0) throw Thrown();
  siglongjmp(g_outside, 1);
}

[[gnu::noinline]] void LeavePoll(int size) {
  // Each time from another depth of the stack.
  auto* room = static_cast<volatile char*>(alloca(static_cast<size_t>(size)));
  room[0] = 1;
  itimerval soon{{0, 0}, {0, 5'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  try {
    if (sigsetjmp(g_outside, 1) == 0) poll(nullptr, 0, -1);
  } catch (const Thrown&) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  }
}

[[gnu::noinline]] void FreezeHere(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
  }
  asm volatile("");
}

int Leave(bool throws, std::chrono::milliseconds freeze) {
  g_throws = throws ? 1 : 0;
  std::signal(SIGALRM, LeaveWait);
  for (int i = 0; i < 3; ++i) poll(nullptr, 0, 5);
  for (int i = 1; i < 10; ++i) LeavePoll(i * 1000);
  for (int i = 0; i < 3; ++i) {
    poll(nullptr, 0, 5);
    if (i == 1) FreezeHere(freeze);
  }
  std::puts("left");
  return 3;
}

// Leaves the last of many polls anywhere, also in what lagwatch does around it.
[[gnu::noinline]] void LeaveAnywhere(int delay_us) {
  itimerval soon{{0, 0}, {0, delay_us}};
  if (sigsetjmp(g_outside, 1) != 0) return;
  setitimer(ITIMER_REAL, &soon, nullptr);
  for (;;) poll(nullptr, 0, 0);
}

int Storm(std::chrono::milliseconds freeze) {
  std::signal(SIGALRM, LeaveWait);
  for (int i = 0; i < 3; ++i) poll(nullptr, 0, 5);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 20; ++i) LeaveAnywhere(500 + 37 * i + round);
    poll(nullptr, 0, 5);
    FreezeHere(freeze);
    poll(nullptr, 0, 5);
  }
  std::puts("left");
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const std::chrono::milliseconds freeze(argc > 2 ? std::atoi(argv[2]) : 0);
  if (how == "cancel") return Cancel();
  if (how == "storm") return Storm(freeze);
  if (how == "jump" || how == "throw") return Leave(how == "throw", freeze);
  return 2;
}
