// SPDX-License-Identifier: Apache-2.0
#include "base/process/quiet_thread.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>

#include "base/clock.h"
#include "base/process/cancellation.h"
#include "base/process/own_memory.h"
#include "base/process/own_threads.h"
#include "base/process/run_guarded.h"
#include "base/system/float_environment.h"
#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

constexpr int64_t kLongestSetUpNs = kNsPerSecond;
constexpr size_t kCallStackBytes = 1 << 20;

thread_local bool t_has_own_files __attribute__((tls_model("initial-exec"))) = false;

struct NewThread {
  pthread_t id;
  pthread_attr_t attributes;
  void* (*run)(void*);
  void* context;
};

int CreateQuiet(NewThread* thread) {
  // The thread inherits a full mask, so there is no moment at which it could take the program's signals.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  const int error = pthread_create(&thread->id, &thread->attributes, thread->run, thread->context);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return error;
}

// Starts threads for a thread of lagwatch, on the program's thread that waits for it: pthread_create(3)
// allocates in the program's heap, which may be for the program's threads only.
class ThreadStarter {
 public:
  int Create(NewThread* thread) {
    thread_.store(thread);
    starter_.Wake();
    while (thread_.load() != nullptr) asker_.SleepUntil(Sleeper::kForever);
    return error_;
  }
  void End() {
    has_ended_.store(true);
    starter_.Wake();
  }
  void ServeUntilEnd() {
    while (!has_ended_.load()) {
      starter_.SleepUntil(Sleeper::kForever);
      NewThread* thread = thread_.load();
      if (thread == nullptr) continue;
      error_ = CreateQuiet(thread);
      thread_.store(nullptr);
      asker_.Wake();
    }
  }

 private:
  std::atomic<NewThread*> thread_{nullptr};
  int error_ = 0;
  std::atomic<bool> has_ended_{false};
  Sleeper starter_;
  Sleeper asker_;
};

thread_local ThreadStarter* t_starter __attribute__((tls_model("initial-exec"))) = nullptr;

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
  stack_ = MapKeptBlock<char>(stack_bytes + guard_bytes);
  if (stack_ == nullptr) return IoError("no stack for the thread " + std::string(name), ENOMEM);
  const bool is_one_mapping = GuardPages(stack_.get(), guard_bytes);
  // Not the stack itself: glibc keeps the thread's descriptor in it, and a child goes through the list of
  // these. A thread that calls the program's functions may fork in one, and its child goes on with the stack.
  if (files == ThreadFiles::kOwn && !is_one_mapping) LeaveOutOfForks(stack_.get(), guard_bytes);
  NewThread thread{.id = {}, .attributes = {}, .run = &QuietThread::Run, .context = this};
  pthread_attr_init(&thread.attributes);
  pthread_attr_setstack(&thread.attributes, stack_.get() + guard_bytes, stack_bytes);
  const int error = t_starter != nullptr ? t_starter->Create(&thread) : CreateQuiet(&thread);
  pthread_attr_destroy(&thread.attributes);
  thread_ = thread.id;
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

bool QuietThread::AwaitEnd(int64_t timeout_ns) {
  if (!is_running_) return true;
#ifdef __GLIBC__
  // The kernel wakes the caller once the thread is past all that could be preempted. Woken by the thread
  // itself, the caller takes its processor, and the process's end waits until the thread gets it again.
  const ScopedNoCancellation no_cancellation;
  const int64_t deadline_ns = SystemClock().MonoNs() + timeout_ns;
  const timespec deadline{.tv_sec = deadline_ns / kNsPerSecond, .tv_nsec = deadline_ns % kNsPerSecond};
  if (pthread_clockjoin_np(thread_, nullptr, CLOCK_MONOTONIC, &deadline) != 0) return false;
  is_running_ = false;
  return true;
#else
  return TryJoin(timeout_ns);
#endif
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
  struct Call {
    void (*run)(void*);
    void* context;
    ThreadStarter starter;
  } call{run, context, {}};
  const auto run_call = [](void* self) {
    auto* called = static_cast<Call*>(self);
    t_starter = &called->starter;
    RunGuarded(called->run, called->context);
    called->starter.End();
  };
  QuietThread thread;
  if (!thread.Start("lagwatch-files", kCallStackBytes, run_call, &call).ok()) return false;
  call.starter.ServeUntilEnd();
  return thread.TryJoin(Sleeper::kForever);
}

}  // namespace lagwatch::base
