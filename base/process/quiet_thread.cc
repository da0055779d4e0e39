// SPDX-License-Identifier: Apache-2.0
#include "base/process/quiet_thread.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "base/clock.h"
#include "base/process/cancellation.h"
#include "base/process/own_threads.h"
#include "base/process/run_guarded.h"
#include "base/system/float_environment.h"
#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

constexpr int64_t kLongestSetUpNs = kNsPerSecond;
constexpr size_t kCallStackBytes = 1 << 20;

thread_local bool t_has_own_files __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

bool HasOwnFiles() { return t_has_own_files; }

Status QuietThread::Start(const char* name, size_t stack_bytes, void (*run)(void*), void* context,
                          ThreadFiles files) {
  name_ = name;
  run_ = run;
  context_ = context;
  files_ = files;
  is_set_up_.store(false);
  has_ended_.store(false);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  stack_bytes += 2 << 20;  // their runtimes keep what belongs to a thread at the end of its stack
#endif
  stack_bytes += ThreadLocalBytes();
  const auto guard_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  stack_ = MapBlock<char>(stack_bytes + guard_bytes);
  if (stack_ == nullptr) return IoError("no stack for the thread " + std::string(name), ENOMEM);
  mprotect(stack_.get(), guard_bytes, PROT_NONE);
  // The thread inherits a full mask, so there is no moment at which it could take the program's signals.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack_.get() + guard_bytes, stack_bytes);
  int error = pthread_create(&thread_, &attributes, &QuietThread::Run, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error != 0) {
    stack_.reset();
    return IoError("cannot start the thread " + std::string(name), error);
  }
  is_running_ = true;
  if (files == ThreadFiles::kProgram) return {};
  const int64_t deadline_ns = SystemClock().MonoNs() + kLongestSetUpNs;
  while (!is_set_up_.load() && SystemClock().MonoNs() < deadline_ns) starter_.SleepUntil(deadline_ns);
  return {};
}

bool QuietThread::TryJoin(int64_t timeout_ns) {
  if (!is_running_) return true;
  const int64_t now_ns = SystemClock().MonoNs();
  const int64_t deadline_ns =
      timeout_ns < Sleeper::kForever - now_ns ? now_ns + timeout_ns : Sleeper::kForever;
  while (!has_ended_.load() && SystemClock().MonoNs() < deadline_ns) joiner_.SleepUntil(deadline_ns);
  if (!has_ended_.load()) return false;
  const ScopedNoCancellation no_cancellation;
  pthread_join(thread_, nullptr);
  stack_.reset();
  is_running_ = false;
  return true;
}

void* QuietThread::Run(void* self) {
  auto* thread = static_cast<QuietThread*>(self);
  static_cast<void>(FloatEnvironment::Replace());  // the starter's is the program's
  const ScopedOwnThread own;
  if (thread->files_ == ThreadFiles::kOwn) {
    t_has_own_files = internal::LeaveProgramFiles();
  }
  NameCurrentThread(thread->name_);
  thread->is_set_up_.store(true);
  thread->starter_.Wake();
  RunGuarded(thread->run_, thread->context_);
  thread->has_ended_.store(true);
  thread->joiner_.Wake();
  return nullptr;
}

bool RunWithOwnFiles(void (*run)(void*), void* context) {
  if (HasOwnFiles() || !internal::kThreadsCanHaveOwnFiles) {
    run(context);
    return true;
  }
  const ScopedNoCancellation no_cancellation;
  QuietThread thread;
  if (!thread.Start("lagwatch-files", kCallStackBytes, run, context).ok()) return false;
  return thread.TryJoin(Sleeper::kForever);
}

}  // namespace lagwatch::base
