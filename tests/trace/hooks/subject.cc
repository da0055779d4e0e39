// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/hooks/subject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace {

// Calls `call` and does something afterwards, so that no jump takes the place of the call.
template <typename Call>
[[gnu::noinline]] auto Outer(Call call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    asm volatile("");
  } else {
    auto result = call();
    asm volatile("" : "+r"(result));
    return result;
  }
}

template <auto kFunction>
struct Wrapped;
template <typename R, typename... A, bool kIsNoexcept, R (*kFunction)(A...) noexcept(kIsNoexcept)>
struct Wrapped<kFunction> {
  static R Call(A... arguments) {
    return Outer([=] { return kFunction(arguments...); });
  }
};

long FutexWait(uint32_t* word, uint32_t expected) {
  return Outer([=] { return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr); });
}
long FutexWake(uint32_t* word, int count) {
  return Outer([=] { return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count); });
}
int Open(const char* path, int flags, mode_t mode) {
  return Outer([=] { return open(path, flags, mode); });
}
int PollOne(int fd, int timeout_ms) {
  pollfd polled{fd, POLLIN, 0};
  return Outer([&] { return poll(&polled, 1, timeout_ms); });
}
int SleepFor(const timespec* duration) {
  return Outer([=] { return nanosleep(duration, nullptr); });
}
void* LoadNow(const char* path) {
  return Outer([=] { return dlopen(path, RTLD_NOW | RTLD_LOCAL); });
}
int CurrentCpu() {
  unsigned cpu = 0;
  return Outer([&] { return syscall(SYS_getcpu, &cpu, nullptr, nullptr); }) == 0 ? 0 : -1;
}
int* AllocateNew() {
  return Outer([] { return new int(7); });
}
void FreeNew(int* number) {
  Outer([=] { delete number; });
}
bool IsOwnCode(uint64_t address) {
  Dl_info own;
  Dl_info asked;
  return dladdr(reinterpret_cast<void*>(IsOwnCode), &own) != 0 &&
         dladdr(reinterpret_cast<void*>(address), &asked) != 0 && own.dli_fbase == asked.dli_fbase;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Subject* GetSubject() {
  static const Subject subject{
      .allocate = Wrapped<malloc>::Call,
      .allocate_zeroed = Wrapped<calloc>::Call,
      .reallocate = Wrapped<realloc>::Call,
      .allocate_aligned = Wrapped<aligned_alloc>::Call,
      .allocate_posix = Wrapped<posix_memalign>::Call,
      .allocate_new = AllocateNew,
      .free_new = FreeNew,
      .release = Wrapped<free>::Call,
      .lock = Wrapped<pthread_mutex_lock>::Call,
      .trylock = Wrapped<pthread_mutex_trylock>::Call,
      .timedlock = Wrapped<pthread_mutex_timedlock>::Call,
      .clocklock = Wrapped<pthread_mutex_clocklock>::Call,
      .unlock = Wrapped<pthread_mutex_unlock>::Call,
      .rdlock = Wrapped<pthread_rwlock_rdlock>::Call,
      .wrlock = Wrapped<pthread_rwlock_wrlock>::Call,
      .trywrlock = Wrapped<pthread_rwlock_trywrlock>::Call,
      .timedwrlock = Wrapped<pthread_rwlock_timedwrlock>::Call,
      .rwlock_unlock = Wrapped<pthread_rwlock_unlock>::Call,
      .cond_wait = Wrapped<pthread_cond_wait>::Call,
      .cond_timedwait = Wrapped<pthread_cond_timedwait>::Call,
      .cond_signal = Wrapped<pthread_cond_signal>::Call,
      .cond_broadcast = Wrapped<pthread_cond_broadcast>::Call,
      .semaphore_wait = Wrapped<sem_wait>::Call,
      .semaphore_trywait = Wrapped<sem_trywait>::Call,
      .semaphore_timedwait = Wrapped<sem_timedwait>::Call,
      .semaphore_post = Wrapped<sem_post>::Call,
      .barrier_wait = Wrapped<pthread_barrier_wait>::Call,
      .join = Wrapped<pthread_join>::Call,
      .futex_wait = FutexWait,
      .futex_wake = FutexWake,
      .read = Wrapped<read>::Call,
      .write = Wrapped<write>::Call,
      .open = Open,
      .poll_one = PollOne,
      .sleep_for = SleepFor,
      .read_clock = Wrapped<clock_gettime>::Call,
      .read_time = Wrapped<time>::Call,
      .load = LoadNow,
      .current_cpu = CurrentCpu,
      .is_own_code = IsOwnCode,
  };
  return &subject;
}
