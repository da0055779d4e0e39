// SPDX-License-Identifier: Apache-2.0
// Each function waits in one call of libc until the process ends.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "tests/unwind/zoo/zoo.h"

namespace lagwatch::unwind_test {
namespace {

constexpr int kLongS = 3600;

int ReadEndOfPipe() {
  int ends[2];
  return pipe(ends) == 0 ? ends[0] : -1;
}

int FullPipe() {
  int ends[2];
  if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) return -1;
  char bytes[4096] = {};
  while (write(ends[1], bytes, sizeof bytes) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  return ends[1];
}

int Listener(sockaddr_un* address, socklen_t* size) {
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un any{};
  any.sun_family = AF_UNIX;
  *size = sizeof *address;
  // An abstract name that the kernel chooses.
  if (bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof any.sun_family) != 0 ||
      listen(listener, 0) != 0 || getsockname(listener, reinterpret_cast<sockaddr*>(address), size) != 0) {
    return -1;
  }
  return listener;
}

// A child that lives as long as this thread, after having done `first`.
template <typename Function>
pid_t Child(Function first) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    first();
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte;
  return read(ready[0], &byte, 1) == 1 ? child : -1;
}

int ScratchFile() {
  FILE* file = tmpfile();
  return file == nullptr ? -1 : fileno(file);
}

ZOO_SHAPE void InMutex() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  RecordCallers(InMutex);
  Consume(static_cast<uint64_t>(pthread_mutex_lock(&mutex)));
}
ZOO_SHAPE void InCondition() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  RecordCallers(InCondition);
  for (;;) pthread_cond_wait(&condition, &mutex);
}
ZOO_SHAPE void InTimedCondition() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  timespec end{time(nullptr) + kLongS, 0};
  RecordCallers(InTimedCondition);
  for (;;) pthread_cond_timedwait(&condition, &mutex, &end);
}
ZOO_SHAPE void InSemaphore() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  RecordCallers(InSemaphore);
  Consume(static_cast<uint64_t>(sem_wait(&semaphore)));
}
ZOO_SHAPE void InTimedSemaphore() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  timespec end{time(nullptr) + kLongS, 0};
  RecordCallers(InTimedSemaphore);
  Consume(static_cast<uint64_t>(sem_timedwait(&semaphore, &end)));
}
ZOO_SHAPE void InJoin() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        for (;;) pause();
      },
      nullptr);
  RecordCallers(InJoin);
  Consume(static_cast<uint64_t>(pthread_join(thread, nullptr)));
}
ZOO_SHAPE void InPoll() {
  pollfd polled{ReadEndOfPipe(), POLLIN, 0};
  RecordCallers(InPoll);
  Consume(static_cast<uint64_t>(poll(&polled, 1, -1)));
}
ZOO_SHAPE void InPpoll() {
  pollfd polled{ReadEndOfPipe(), POLLIN, 0};
  timespec timeout{kLongS, 0};
  RecordCallers(InPpoll);
  Consume(static_cast<uint64_t>(ppoll(&polled, 1, &timeout, nullptr)));
}
ZOO_SHAPE void InEpoll() {
  epoll_event event{EPOLLIN, {}};
  int epoll = epoll_create1(0);
  epoll_ctl(epoll, EPOLL_CTL_ADD, ReadEndOfPipe(), &event);
  RecordCallers(InEpoll);
  Consume(static_cast<uint64_t>(epoll_wait(epoll, &event, 1, -1)));
}
ZOO_SHAPE void InSelect() {
  timeval timeout{kLongS, 0};
  RecordCallers(InSelect);
  Consume(static_cast<uint64_t>(select(0, nullptr, nullptr, nullptr, &timeout)));
}
ZOO_SHAPE void InPselect() {
  timespec timeout{kLongS, 0};
  RecordCallers(InPselect);
  Consume(static_cast<uint64_t>(pselect(0, nullptr, nullptr, nullptr, &timeout, nullptr)));
}
ZOO_SHAPE void InNanosleep() {
  timespec duration{kLongS, 0};
  RecordCallers(InNanosleep);
  Consume(static_cast<uint64_t>(nanosleep(&duration, nullptr)));
}
ZOO_SHAPE void InClockNanosleep() {
  timespec duration{kLongS, 0};
  RecordCallers(InClockNanosleep);
  Consume(static_cast<uint64_t>(clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr)));
}
ZOO_SHAPE void InUsleep() {
  RecordCallers(InUsleep);
  Consume(static_cast<uint64_t>(usleep(kLongS * 1'000'000u)));
}
ZOO_SHAPE void InRead() {
  int file = ReadEndOfPipe();
  char byte;
  RecordCallers(InRead);
  Consume(static_cast<uint64_t>(read(file, &byte, 1)));
}
ZOO_SHAPE void InWrite() {
  int file = FullPipe();
  RecordCallers(InWrite);
  Consume(static_cast<uint64_t>(write(file, "", 1)));
}
ZOO_SHAPE void InReceive() {
  int ends[2];
  char byte;
  Consume(static_cast<uint64_t>(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)));
  RecordCallers(InReceive);
  Consume(static_cast<uint64_t>(recv(ends[0], &byte, 1, 0)));
}
ZOO_SHAPE void InAccept() {
  sockaddr_un address;
  socklen_t size;
  int listener = Listener(&address, &size);
  RecordCallers(InAccept);
  Consume(static_cast<uint64_t>(accept(listener, nullptr, nullptr)));
}
ZOO_SHAPE void InConnect() {
  sockaddr_un address;
  socklen_t size;
  Listener(&address, &size);
  // The first fills the queue.
  connect(socket(AF_UNIX, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&address), size);
  int second = socket(AF_UNIX, SOCK_STREAM, 0);
  RecordCallers(InConnect);
  Consume(static_cast<uint64_t>(connect(second, reinterpret_cast<sockaddr*>(&address), size)));
}
ZOO_SHAPE void InWait() {
  pid_t child = Child([] {});
  int status;
  RecordCallers(InWait);
  Consume(static_cast<uint64_t>(waitpid(child, &status, 0)));
}
ZOO_SHAPE void InFlock() {
  int file = ScratchFile();
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  flock(open(path, O_RDWR | O_CLOEXEC), LOCK_EX);
  RecordCallers(InFlock);
  Consume(static_cast<uint64_t>(flock(file, LOCK_EX)));
}
ZOO_SHAPE void InFileLock() {
  int file = ScratchFile();
  struct flock whole {};
  whole.l_type = F_WRLCK;
  Child([&] { fcntl(file, F_SETLK, &whole); });
  RecordCallers(InFileLock);
  Consume(static_cast<uint64_t>(fcntl(file, F_SETLKW, &whole)));
}
ZOO_SHAPE void InMessageQueue() {
  int queue = msgget(IPC_PRIVATE, 0600);
  static int removed_at_exit;
  removed_at_exit = queue;
  atexit([] { msgctl(removed_at_exit, IPC_RMID, nullptr); });
  struct {
    long type;  // NOLINT(google-runtime-int): msgop(2)
    char byte;
  } message{};
  RecordCallers(InMessageQueue);
  Consume(static_cast<uint64_t>(msgrcv(queue, &message, 1, 0, 0)));
}
ZOO_SHAPE void InSignalWait() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  timespec timeout{kLongS, 0};
  RecordCallers(InSignalWait);
  Consume(static_cast<uint64_t>(sigtimedwait(&set, nullptr, &timeout)));
}
ZOO_SHAPE void InPause() {
  RecordCallers(InPause);
  Consume(static_cast<uint64_t>(pause()));
}

ZOO_SHAPE uint64_t CallInner(const BlockingCall& call, uint64_t a) {
  call.block();
  return a + 1;
}
ZOO_SHAPE uint64_t CallOuter(const BlockingCall& call, uint64_t a, uint64_t b) {
  uint64_t sum = CallInner(call, a * b);
  return sum * a + b;
}

}  // namespace

void* RunBlockingCall(void* call) {
  Consume(CallOuter(*static_cast<const BlockingCall*>(call), 2, 3));
  return nullptr;
}

std::span<const BlockingCall> BlockingCalls() {
  static constexpr BlockingCall kCalls[] = {{"mutex", InMutex},
                                            {"condition", InCondition},
                                            {"timed condition", InTimedCondition},
                                            {"semaphore", InSemaphore},
                                            {"timed semaphore", InTimedSemaphore},
                                            {"join", InJoin},
                                            {"poll", InPoll},
                                            {"ppoll", InPpoll},
                                            {"epoll_wait", InEpoll},
                                            {"select", InSelect},
                                            {"pselect", InPselect},
                                            {"nanosleep", InNanosleep},
                                            {"clock_nanosleep", InClockNanosleep},
                                            {"usleep", InUsleep},
                                            {"read", InRead},
                                            {"write", InWrite},
                                            {"recv", InReceive},
                                            {"accept", InAccept},
                                            {"connect", InConnect},
                                            {"waitpid", InWait},
                                            {"flock", InFlock},
                                            {"fcntl", InFileLock},
                                            {"msgrcv", InMessageQueue},
                                            {"sigtimedwait", InSignalWait},
                                            {"pause", InPause}};
  return kCalls;
}

}  // namespace lagwatch::unwind_test
