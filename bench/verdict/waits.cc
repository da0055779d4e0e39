// SPDX-License-Identifier: Apache-2.0
#include "bench/verdict/waits.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/verdict/thread_group.h"

namespace lagwatch::bench {

// Waits by `wait` on one of `ends`, until the other one writes.
void AwaitEnd(const int (&ends)[2], const Stall& stall, void (*wait)(int)) {
  std::thread writer([&] {
    stall.WaitForReport();
    if (write(ends[1], "x", 1) != 1) std::abort();
  });
  wait(ends[0]);
  writer.join();
  close(ends[0]);
  close(ends[1]);
}

void Read(int descriptor) {
  char byte;
  if (read(descriptor, &byte, 1) != 1) std::abort();
}
void Receive(int descriptor) {
  char byte;
  if (recv(descriptor, &byte, 1, 0) != 1) std::abort();
}
void Poll(int descriptor) {
  pollfd awaited{.fd = descriptor, .events = POLLIN, .revents = 0};
  poll(&awaited, 1, -1);
}
void Select(int descriptor) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(descriptor, &set);
  select(descriptor + 1, &set, nullptr, nullptr, nullptr);
}
// As a loop does, with something that wakes it up.
void EpollWait(int descriptor) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int wake = eventfd(0, EFD_CLOEXEC);
  for (int awaited : {descriptor, wake}) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, awaited, &event);
  }
  epoll_event event;
  epoll_wait(epoll, &event, 1, -1);
  close(wake);
  close(epoll);
}

std::function<void(const Stall&)> OnPipe(void (*wait)(int)) {
  return [wait](const Stall& stall) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) AwaitEnd(ends, stall, wait);
  };
}
std::function<void(const Stall&)> OnSocketPair(void (*wait)(int)) {
  return [wait](const Stall& stall) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) AwaitEnd(ends, stall, wait);
  };
}
// A client of a server at `address`.
void OnConnection(const sockaddr* address, socklen_t size, const Stall& stall, void (*wait)(int)) {
  const int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage bound{};
  socklen_t bound_size = sizeof bound;
  if (bind(listener, address, size) != 0 || listen(listener, 1) != 0) std::abort();
  getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &bound_size);
  int ends[2];
  ends[0] = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(ends[0], reinterpret_cast<sockaddr*>(&bound), bound_size) != 0) std::abort();
  ends[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  AwaitEnd(ends, stall, wait);
  close(listener);
}
std::function<void(const Stall&)> OnTcp(void (*wait)(int)) {
  return [wait](const Stall& stall) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OnConnection(reinterpret_cast<sockaddr*>(&address), sizeof address, stall, wait);
  };
}
// `name` in the folder of scratch files, or, with a '@' first, an abstract one.
std::function<void(const Stall&)> OnUnixSocket(const std::string& name, void (*wait)(int)) {
  return [name, wait](const Stall& stall) {
    const std::string path = name.front() == '@' ? name : ScratchFolder() + "/" + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name.front() == '@') address.sun_path[0] = '\0';
    unlink(path.c_str());
    OnConnection(reinterpret_cast<sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()), stall, wait);
    unlink(path.c_str());
  };
}

// A question to a name server that is silent.
void AwaitName(const Stall& stall) {
  const int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(0x7f0b0c0d);  // 127.11.12.13: unused
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    std::abort();
  send(client, "?", 1, 0);
  while (stall.IsToGoOn()) {
    pollfd awaited{.fd = client, .events = POLLIN, .revents = 0};
    poll(&awaited, 1, 300);
  }
  close(client);
  close(server);
}

void FillAPipe(const Stall& stall) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  std::thread reader([&] {
    stall.WaitForReport();
    close(ends[0]);
  });
  static const std::vector<char> bytes(1 << 20);
  signal(SIGPIPE, SIG_IGN);
  static_cast<void>(!write(ends[1], bytes.data(), bytes.size()));
  reader.join();
  close(ends[1]);
}

void OpenANamedPipe(const Stall& stall) {
  const std::string path = ScratchFolder() + "/lagwatch-verdict-fifo-" + std::to_string(getpid());
  if (mkfifo(path.c_str(), 0600) != 0) return;
  std::thread writer([&] {
    stall.WaitForReport();
    close(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  });
  close(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  writer.join();
  unlink(path.c_str());
}

// The work of a child, in a process of its own, until there is a report.
template <typename Wait>
void AwaitChild(const Stall& stall, Wait wait) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  std::thread ender([&] {
    stall.WaitForReport();
    kill(child, SIGKILL);
  });
  wait(child);
  ender.join();
  waitpid(child, nullptr, 0);
}
void WaitForAChild(const Stall& stall) {
  AwaitChild(stall, [](pid_t child) {
    siginfo_t ended;
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  });
}
void PollAChild(const Stall& stall) {
  AwaitChild(stall, [](pid_t child) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    Poll(descriptor);
    close(descriptor);
  });
}
void RunAShell(const Stall& stall) {
  while (stall.IsToGoOn()) static_cast<void>(!system("sleep 0.3"));
}

// Another process has the lock.
void LockAFile(const Stall& stall, int (*lock)(int descriptor)) {
  const std::string path = ScratchFolder() + "/lagwatch-verdict-lock-" + std::to_string(getpid());
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return;
  const pid_t holder = fork();
  if (holder == 0) {
    lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    static_cast<void>(!write(ready[1], "x", 1));
    pause();
    _exit(0);
  }
  Read(ready[0]);
  std::thread ender([&] {
    stall.WaitForReport();
    kill(holder, SIGKILL);
  });
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  lock(descriptor);
  ender.join();
  waitpid(holder, nullptr, 0);
  for (int opened : {descriptor, ready[0], ready[1]}) close(opened);
  unlink(path.c_str());
}
int LockWhole(int descriptor) { return flock(descriptor, LOCK_EX); }
int LockRange(int descriptor) {
  struct flock range {};
  range.l_type = F_WRLCK;
  return fcntl(descriptor, F_SETLKW, &range);
}

void AwaitATimer(const Stall& stall) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  while (stall.IsToGoOn()) {
    const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 300'000'000}};
    timerfd_settime(timer, 0, &soon, nullptr);
    Poll(timer);
  }
  close(timer);
}

void PollNothing(const Stall& stall) {
  while (stall.IsToGoOn()) poll(nullptr, 0, 300);
}

}  // namespace lagwatch::bench
