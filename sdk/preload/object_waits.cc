// SPDX-License-Identifier: Apache-2.0
// The functions by which threads wait without a set of descriptors, in front of the C library's own: loops
// wait so, too. pthread_cond_wait() and pthread_cond_timedwait() are left alone: C libraries have two
// versions of each, for conditions of two layouts, and a hook cannot know which one its caller means.
// Compiled without exceptions: see thread_waits.cc.
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <threads.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <type_traits>

#include "sdk/preload/next_function.h"
#include "sdk/preload/watch/thread_state.h"

namespace {

using lagwatch::sdk::FunctionAge;
using lagwatch::sdk::NextFunction;
using lagwatch::sdk::ObjectCall;
using lagwatch::sdk::ObjectKind;

constinit NextFunction<ssize_t(int, void*, size_t)> g_read("read");
constinit NextFunction<ssize_t(int, void*, size_t, size_t)> g_read_chk("__read_chk");
constinit NextFunction<ssize_t(int, void*, size_t, int)> g_recv("recv");
constinit NextFunction<ssize_t(int, void*, size_t, size_t, int)> g_recv_chk("__recv_chk");
constinit NextFunction<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> g_recvfrom("recvfrom");
constinit NextFunction<ssize_t(int, msghdr*, int)> g_recvmsg("recvmsg");
constinit NextFunction<int(int, sockaddr*, socklen_t*)> g_accept("accept");
constinit NextFunction<int(int, sockaddr*, socklen_t*, int)> g_accept4("accept4");
constinit NextFunction<int(const timespec*, timespec*)> g_nanosleep("nanosleep");
constinit NextFunction<int(clockid_t, int, const timespec*, timespec*)> g_clock_nanosleep("clock_nanosleep");
constinit NextFunction<int(useconds_t)> g_usleep("usleep");
constinit NextFunction<int()> g_pause("pause");
constinit NextFunction<int(const sigset_t*)> g_sigsuspend("sigsuspend");
constinit NextFunction<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> g_cond_clockwait(
    "pthread_cond_clockwait", FunctionAge::kRecent);
constinit NextFunction<int(cnd_t*, mtx_t*)> g_cnd_wait("cnd_wait", FunctionAge::kRecent);
constinit NextFunction<int(cnd_t*, mtx_t*, const timespec*)> g_cnd_timedwait("cnd_timedwait",
                                                                             FunctionAge::kRecent);
constinit NextFunction<int(sem_t*)> g_sem_wait("sem_wait");
constinit NextFunction<int(sem_t*, const timespec*)> g_sem_timedwait("sem_timedwait");
constinit NextFunction<int(sem_t*, clockid_t, const timespec*)> g_sem_clockwait("sem_clockwait",
                                                                                FunctionAge::kRecent);
constinit NextFunction<int(int, sembuf*, size_t)> g_semop("semop");
constinit NextFunction<int(int, sembuf*, size_t, const timespec*)> g_semtimedop("semtimedop");
constinit NextFunction<ssize_t(int, void*, size_t, long, int)> g_msgrcv("msgrcv");
constinit NextFunction<ssize_t(mqd_t, char*, size_t, unsigned*)> g_mq_receive("mq_receive");
constinit NextFunction<ssize_t(mqd_t, char*, size_t, unsigned*, const timespec*)> g_mq_timedreceive(
    "mq_timedreceive");

[[gnu::constructor]] void FindObjectWaits() {
  lagwatch::sdk::FindAll(g_read, g_read_chk, g_recv, g_recv_chk, g_recvfrom, g_recvmsg, g_accept, g_accept4,
                         g_nanosleep, g_clock_nanosleep, g_usleep, g_pause, g_sigsuspend, g_cond_clockwait,
                         g_cnd_wait, g_cnd_timedwait, g_sem_wait, g_sem_timedwait, g_sem_clockwait, g_semop,
                         g_semtimedop, g_msgrcv, g_mq_receive, g_mq_timedreceive);
}

// Numbers of different kinds are not the same object.
constexpr uint64_t kDescriptors = uint64_t{1} << 32;
constexpr uint64_t kQueues = uint64_t{2} << 32;
constexpr uint64_t kSemaphores = uint64_t{3} << 32;

uint64_t IdOf(uint64_t kind, int number) { return kind | static_cast<uint32_t>(number); }
uint64_t IdOf(const void* address) { return reinterpret_cast<uint64_t>(address); }

template <typename R, typename... A>
R WaitForObject(const ObjectCall& call, const timespec* until, const NextFunction<R(A...)>& next,
                std::type_identity_t<A>... arguments) {
  if (!lagwatch::sdk::NeedsObjectWaits()) [[likely]]
    return next(arguments...);
  const bool is_noted = lagwatch::sdk::BeginObjectWait(call, until);
  const R result = next(arguments...);
  if (is_noted) lagwatch::sdk::EndObjectWait(call, next.name());
  return result;
}

}  // namespace

#define LAGWATCH_OBJECT_WAIT __attribute__((visibility("default")))
// To be used in the wait function itself.
#define LAGWATCH_OBJECT(kind, object)                                                     \
  ObjectCall {                                                                            \
    reinterpret_cast<uintptr_t>(__builtin_return_address(0)),                             \
        reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), object, ObjectKind::kind \
  }
#define LAGWATCH_READ(fd) LAGWATCH_OBJECT(kRead, static_cast<uint32_t>(fd))

extern "C" {

LAGWATCH_OBJECT_WAIT ssize_t read(int fd, void* bytes, size_t size) {
  return WaitForObject(LAGWATCH_READ(fd), nullptr, g_read, fd, bytes, size);
}

// The names of read and recv in programs built with _FORTIFY_SOURCE.
LAGWATCH_OBJECT_WAIT ssize_t __read_chk(int fd, void* bytes, size_t size, size_t room) {
  return WaitForObject(LAGWATCH_READ(fd), nullptr, g_read_chk, fd, bytes, size, room);
}

LAGWATCH_OBJECT_WAIT ssize_t __recv_chk(int fd, void* bytes, size_t size, size_t room, int flags) {
  if ((flags & MSG_DONTWAIT) != 0) return g_recv_chk(fd, bytes, size, room, flags);
  return WaitForObject(LAGWATCH_READ(fd), nullptr, g_recv_chk, fd, bytes, size, room, flags);
}

LAGWATCH_OBJECT_WAIT ssize_t recv(int fd, void* bytes, size_t size, int flags) {
  if ((flags & MSG_DONTWAIT) != 0) return g_recv(fd, bytes, size, flags);
  return WaitForObject(LAGWATCH_READ(fd), nullptr, g_recv, fd, bytes, size, flags);
}

LAGWATCH_OBJECT_WAIT ssize_t recvfrom(int fd, void* bytes, size_t size, int flags, sockaddr* address,
                                      socklen_t* address_bytes) {
  if ((flags & MSG_DONTWAIT) != 0) return g_recvfrom(fd, bytes, size, flags, address, address_bytes);
  return WaitForObject(LAGWATCH_READ(fd), nullptr, g_recvfrom, fd, bytes, size, flags, address,
                       address_bytes);
}

LAGWATCH_OBJECT_WAIT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  if ((flags & MSG_DONTWAIT) != 0) return g_recvmsg(fd, message, flags);
  return WaitForObject(LAGWATCH_READ(fd), nullptr, g_recvmsg, fd, message, flags);
}

LAGWATCH_OBJECT_WAIT int accept(int fd, sockaddr* address, socklen_t* address_bytes) {
  return WaitForObject(LAGWATCH_OBJECT(kOrders, IdOf(kDescriptors, fd)), nullptr, g_accept, fd, address,
                       address_bytes);
}

LAGWATCH_OBJECT_WAIT int accept4(int fd, sockaddr* address, socklen_t* address_bytes, int flags) {
  return WaitForObject(LAGWATCH_OBJECT(kOrders, IdOf(kDescriptors, fd)), nullptr, g_accept4, fd, address,
                       address_bytes, flags);
}

LAGWATCH_OBJECT_WAIT int nanosleep(const timespec* time, timespec* left) {
  return WaitForObject(LAGWATCH_OBJECT(kFrame, 0), nullptr, g_nanosleep, time, left);
}

LAGWATCH_OBJECT_WAIT int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  return WaitForObject(LAGWATCH_OBJECT(kFrame, 0), nullptr, g_clock_nanosleep, clock, flags, time, left);
}

LAGWATCH_OBJECT_WAIT int usleep(useconds_t time_us) {
  return WaitForObject(LAGWATCH_OBJECT(kFrame, 0), nullptr, g_usleep, time_us);
}

LAGWATCH_OBJECT_WAIT int pause() { return WaitForObject(LAGWATCH_OBJECT(kOrders, 0), nullptr, g_pause); }

LAGWATCH_OBJECT_WAIT int sigsuspend(const sigset_t* mask) {
  return WaitForObject(LAGWATCH_OBJECT(kOrders, 0), nullptr, g_sigsuspend, mask);
}

LAGWATCH_OBJECT_WAIT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                clockid_t clock, const timespec* until) {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(condition)), until, g_cond_clockwait, condition, mutex,
                       clock, until);
}

LAGWATCH_OBJECT_WAIT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(condition)), nullptr, g_cnd_wait, condition, mutex);
}

LAGWATCH_OBJECT_WAIT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(condition)), until, g_cnd_timedwait, condition, mutex,
                       until);
}

LAGWATCH_OBJECT_WAIT int sem_wait(sem_t* semaphore) {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(semaphore)), nullptr, g_sem_wait, semaphore);
}

LAGWATCH_OBJECT_WAIT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(semaphore)), until, g_sem_timedwait, semaphore, until);
}

LAGWATCH_OBJECT_WAIT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(semaphore)), until, g_sem_clockwait, semaphore, clock,
                       until);
}

LAGWATCH_OBJECT_WAIT int semop(int id, sembuf* operations, size_t count) noexcept {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(kSemaphores, id)), nullptr, g_semop, id, operations,
                       count);
}

LAGWATCH_OBJECT_WAIT int semtimedop(int id, sembuf* operations, size_t count,
                                    const timespec* limit) noexcept {
  return WaitForObject(LAGWATCH_OBJECT(kLock, IdOf(kSemaphores, id)), nullptr, g_semtimedop, id, operations,
                       count, limit);
}

LAGWATCH_OBJECT_WAIT ssize_t msgrcv(int id, void* message, size_t size, long type, int flags) {
  if ((flags & IPC_NOWAIT) != 0) return g_msgrcv(id, message, size, type, flags);
  return WaitForObject(LAGWATCH_OBJECT(kOrders, IdOf(kQueues, id)), nullptr, g_msgrcv, id, message, size,
                       type, flags);
}

LAGWATCH_OBJECT_WAIT ssize_t mq_receive(mqd_t queue, char* message, size_t size, unsigned* priority) {
  return WaitForObject(LAGWATCH_OBJECT(kOrders, IdOf(kDescriptors, queue)), nullptr, g_mq_receive, queue,
                       message, size, priority);
}

LAGWATCH_OBJECT_WAIT ssize_t mq_timedreceive(mqd_t queue, char* message, size_t size, unsigned* priority,
                                             const timespec* until) {
  return WaitForObject(LAGWATCH_OBJECT(kOrders, IdOf(kDescriptors, queue)), nullptr, g_mq_timedreceive, queue,
                       message, size, priority, until);
}

}  // extern "C"
