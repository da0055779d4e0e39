// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/run_guarded.h"

namespace lagwatch::base {

Status QuietThread::Start(const char* name, size_t stack_bytes, void (*run)(void*), void* context) {
  name_ = name;
  run_ = run;
  context_ = context;
  has_ended_.store(false);
  // The thread inherits a full mask, so there is no moment at which it could take the program's signals.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  int error = pthread_create(&thread_, &attributes, &QuietThread::Run, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error != 0) return IoError("cannot start the thread " + std::string(name), error);
  is_running_ = true;
  return {};
}

bool QuietThread::TryJoin(int64_t timeout_ns) {
  if (!is_running_) return true;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = kNsPerMs};
  const int64_t deadline_ns = SystemClock().MonoNs() + timeout_ns;
  while (!has_ended_.load() && SystemClock().MonoNs() < deadline_ns) nanosleep(&kPause, nullptr);
  if (!has_ended_.load()) return false;
  pthread_join(thread_, nullptr);
  is_running_ = false;
  return true;
}

void* QuietThread::Run(void* self) {
  auto* thread = static_cast<QuietThread*>(self);
  pthread_setname_np(pthread_self(), thread->name_);
  RunGuarded(thread->run_, thread->context_);
  thread->has_ended_.store(true);
  return nullptr;
}

bool LeaveFileTable() {
#if defined(SYS_close_range) && !defined(__SANITIZE_THREAD__)  // which knows one table for all threads
  constexpr unsigned kUnshareFirst = 1U << 1;  // CLOSE_RANGE_UNSHARE, which older headers lack
  return syscall(SYS_close_range, 0U, ~0U, kUnshareFirst) == 0;
#else
  return false;
#endif
}

}  // namespace lagwatch::base
