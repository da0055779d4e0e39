// SPDX-License-Identifier: Apache-2.0
// Waits for another process, the child "culprit".
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "scene.h"

namespace scenes {
namespace {

template <typename Work>
pid_t StartCulprit(Work work) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_NAME, "culprit");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  work();
  _exit(0);
}

void End(pid_t child) {
  waitpid(child, nullptr, 0);
  asm volatile("");  // the call is no jump, which would leave no frame
}

void Send(int descriptor) {
  if (write(descriptor, "x", 1) != 1) std::abort();
}
void Take(int descriptor) {
  char byte;
  static_cast<void>(!read(descriptor, &byte, 1));
}

void ConvertFile() { End(StartCulprit(KeepItWaiting)); }

void ReadAnswer() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  const pid_t child = StartCulprit([&] {
    close(ends[0]);
    KeepItWaiting();
    Send(ends[1]);
  });
  close(ends[1]);
  Take(ends[0]);
  close(ends[0]);
  End(child);
}

void AskHelper() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const pid_t child = StartCulprit([&] {
    close(ends[0]);
    Take(ends[1]);
    KeepItWaiting();
    Send(ends[1]);
  });
  close(ends[1]);
  Send(ends[0]);
  Take(ends[0]);
  close(ends[0]);
  End(child);
}

// A server at `address`, which answers late, and its client.
void AskServer(sockaddr* address, socklen_t size) {
  const int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, address, size) != 0 || listen(listener, 4) != 0) std::abort();
  getsockname(listener, address, &size);
  const pid_t child = StartCulprit([&] {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Take(connection);
    KeepItWaiting();
    Send(connection);
  });
  close(listener);
  const int client = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(client, address, size) != 0) std::abort();
  Send(client);
  Take(client);
  close(client);
  End(child);
}

void AskService() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, ("/tmp/native-service-" + std::to_string(getpid())).c_str());
  AskServer(reinterpret_cast<sockaddr*>(&address), sizeof address);
  unlink(address.sun_path);
}

void AskDatabase() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  AskServer(reinterpret_cast<sockaddr*>(&address), sizeof address);
}

template <typename Lock>
void LockFile(Lock lock) {
  const std::string path = "/tmp/native-lock-" + std::to_string(getpid());
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) std::abort();
  const pid_t child = StartCulprit([&] {
    lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    Send(ready[1]);
    KeepItWaiting();
  });
  Take(ready[0]);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  lock(file);
  for (int descriptor : {file, ready[0], ready[1]}) close(descriptor);
  unlink(path.c_str());
  End(child);
}

void SaveMailbox() {
  LockFile([](int file) { flock(file, LOCK_EX); });
}

void SaveTable() {
  LockFile([](int file) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    fcntl(file, F_SETLKW, &whole);
  });
}

void ShareBuffer() {
  auto* mutex = static_cast<pthread_mutex_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(mutex, &attributes);
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) std::abort();
  const pid_t child = StartCulprit([&] {
    pthread_mutex_lock(mutex);
    Send(ready[1]);
    KeepItWaiting();
    pthread_mutex_unlock(mutex);
  });
  Take(ready[0]);
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
  for (int descriptor : ready) close(descriptor);
  End(child);
}

constexpr Scene kScenes[] = {
    {"child", "process", "ConvertFile", Other::kPeer, ConvertFile},
    {"pipe", "pipe", "ReadAnswer", Other::kPeer, ReadAnswer},
    {"socketpair", "pipe", "AskHelper", Other::kPeer, AskHelper},
    {"service", "service", "AskService/AskServer", Other::kPeer, AskService},
    {"tcp", "network", "AskDatabase/AskServer", Other::kPeer, AskDatabase},
    {"flock", "lock", "SaveMailbox", Other::kPeer, SaveMailbox},
    {"fcntl", "lock", "SaveTable", Other::kPeer, SaveTable},
    {"process-mutex", "lock", "ShareBuffer", Other::kPeer, ShareBuffer},
};

}  // namespace

std::span<const Scene> Processes() { return kScenes; }

}  // namespace scenes
