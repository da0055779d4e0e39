// SPDX-License-Identifier: Apache-2.0
// Captures the stack of any thread of a process, this one or another, disturbing it as little as its state
// allows. On Darwin the thread is suspended while its stack is copied (stack/darwin/suspended_copy.h). On
// Linux a thread that is
//   blocked   reads its stack in place, without a signal
//   running   sends a real-time signal, whose handler copies registers and stack and returns
//   neither   (uninterruptible, signal blocked, gone) reads what it can; the stack is marked as incomplete,
//             and no_stack_reason() returns why
// A blocked thread gets the signal only if its stack could not be unwound without its registers and the
// system call restarts by itself. One that falls asleep just then has its call made again where that is
// possible (docs/design/capture.md), so that the application does not see EINTR.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/counter.h"
#include "base/process/process.h"
#include "base/status.h"
#include "stack/code/module_map.h"
#include "stack/code/unwinder.h"
#include "stack/code_map.h"
#include "stack/frames/stack.h"
#include "stack/script_stacks.h"
#include "stack/threads/thread_files.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

struct CaptureOptions {
  int signal_number = 0;                   // 0: an unused real-time signal is chosen
  int64_t signal_timeout_ns = 20'000'000;  // how long a running thread may take to answer
};

struct CaptureCounters {
  base::Counter captures;
  base::Counter signals_sent;
  base::Counter signal_timeouts;
  // The thread blocks the signal, has no room for a handler or runs too little; or the program
  // replaced the handler.
  base::Counter signals_withheld;
  base::Counter sleepers_signalled;  // in calls that restart, because their stacks were incomplete otherwise
  base::Counter incomplete_stacks;
  base::Counter waited_ns;      // that captures wanted to wait, for threads to go on or to answer
  base::Counter pause_ticks;    // that threads spent in our handler, or were stopped from outside at most
  base::Counter handler_lost;   // number of times that the program replaced the signal's handler
  base::Counter handler_moved;  // … and another signal was taken instead
};

// Thread safety: Create from any thread; a capturer is one thread's at a time (the watchdog's, a sampler's).
// There may be up to CaptureSlots::kMaxSlots in a process; they share one signal, do not wait for each
// other's captures, and may capture the same thread at once.
class StackCapturer {
 public:
  static constexpr int64_t kUnread = -1;

  // Installs the signal's handler, unless another capturer did. A handler that a wanted signal already has
  // still receives foreign signals, and keeps its flags and its mask. If the program handles every real-time
  // signal, only threads that sleep have stacks. Errors: kUnavailable if the wanted signal's handler cannot
  // be installed, if other capturers use another signal, if there are too many capturers or there is no
  // memory; kInvalid if there is no such signal. Context: background.
  static base::Result<std::unique_ptr<StackCapturer>> Create(const CaptureOptions& options,
                                                             std::shared_ptr<CodeMap> code);
  // With a code map of its own. Context: background.
  static base::Result<std::unique_ptr<StackCapturer>> Create(const CaptureOptions& options,
                                                             std::unique_ptr<Unwinder> unwinder);
  // Of the threads of another process, without signals: one that runs is stopped by ptrace(2) for as long as
  // its stack is copied. Linux. Errors: kUnavailable without memory. Context: background.
  static base::Result<std::unique_ptr<StackCapturer>> CreateOutside(const base::Process& process,
                                                                    const CaptureOptions& options,
                                                                    std::unique_ptr<Unwinder> unwinder);
  // The last one restores the signals, except those whose handlers were replaced. Context: background.
  virtual ~StackCapturer() = default;
  StackCapturer(const StackCapturer&) = delete;
  StackCapturer& operator=(const StackCapturer&) = delete;

  // For the child of a fork(): gives the signals back without touching anything that needs a lock. The
  // capturers that there may be must then be leaked; there can be others. Context: background.
  static void AbandonAllInForkedChild();

  // The process whose threads are captured. Context: watchdog.
  const base::Process& process() const { return code_->process(); }
  base::Thread thread(int32_t tid) const { return {process(), tid}; }
  // From now on of another process; only of a capturer that was made with CreateOutside(), and has no code
  // map in common with others. RefreshModules() comes next. Context: watchdog.
  void LookAt(const base::Process& process) {
    code_->LookAt(process);
    if (scripts_ != nullptr) scripts_->MoveTo(process);
  }

  // If the program replaced the signal's handler, takes another, unused signal for all capturers; the
  // program's handler stays unchanged. To be called before captures: one system call in the usual case.
  // Returns the signal that has our handler; 0 if none is available. Context: watchdog.
  virtual int KeepSignal() = 0;

  // Updates the map of loaded code and of possible stacks. To be called before captures. Context: watchdog.
  void RefreshModules() { code_->Refresh(); }
  // To be called now and then while captures go on: looks again when stacks since then had addresses that
  // belong to nothing known, or when that was long ago. Context: watchdog.
  void RefreshModulesIfDue() { code_->RefreshIfDue(); }

  // The stack of thread `tid`, which must not be the caller; always leaves `stack` valid. Waits for at most
  // the signal's timeout. `cpu_ns` is what the thread's CPU clock showed a moment ago, if it has run without
  // a pause for long by that; then a question to /proc is saved. Context: watchdog.
  virtual void Capture(int tid, Stack* stack, int64_t cpu_ns = kUnread) = 0;

  // From now on, captured stacks get the script frames that `scripts` knows. Borrowed; null: none.
  // Context: background, before captures.
  void SetScripts(ScriptStacks* scripts) { scripts_ = scripts; }
  // See ScriptStacks::FindLock(). Context: watchdog.
  std::optional<ScriptLock> FindScriptLock(int tid, const BlockedThread& blocked) {
    return scripts_ == nullptr ? std::nullopt : scripts_->FindLock(tid, ToFutexWait(blocked));
  }
  // See ScriptStacks::FindTask(). Context: watchdog.
  ScriptTask FindScriptTask(const Stack& stack) const {
    return scripts_ == nullptr || stack.task == 0 ? ScriptTask{} : scripts_->FindTask(stack.task);
  }
  // See ScriptStacks: of threads of a language's own. Context: watchdog.
  std::optional<ScriptThreadWait> FindScriptThreadWait(int tid) const {
    return scripts_ == nullptr ? std::nullopt : scripts_->FindThreadWait(tid);
  }
  size_t ListScriptThreads(std::span<int32_t> tids) const {
    return scripts_ == nullptr ? 0 : scripts_->ListThreads(tids);
  }
  void NameScriptThread(int tid, std::span<char> name) const {
    name[0] = '\0';
    if (scripts_ != nullptr) scripts_->NameThread(tid, name);
  }
  // See ScriptStacks::FindWait(), FindPeer() and GcCause(). Context: watchdog.
  policies::Doing FindScriptWait(int tid) const {
    if (scripts_ == nullptr) return policies::Doing::kUnknown;
    BlockedThread blocked;
    const bool is_known =
        ReadThreadActivity(thread(tid), &thread_files_, &blocked) == ThreadActivity::kBlocked;
    return scripts_->FindWait(tid, is_known ? ToFutexWait(blocked) : FutexWait{}, code_.get());
  }
  ScriptPeer FindScriptPeer(int tid, const BlockedThread& blocked) const {
    return scripts_ == nullptr ? ScriptPeer{} : scripts_->FindPeer(tid, ToFutexWait(blocked));
  }
  const char* GcCause() const { return scripts_ == nullptr ? "" : scripts_->GcCause(); }
  // See ScriptStacks::unreadable().
  const char* unreadable_scripts() const { return scripts_ == nullptr ? "" : scripts_->unreadable(); }

  // Asks a thread that has run without a pause for long for its stack, and does not wait for the answer:
  // the next call of Collect(), or of any capture, writes it to `stack` and `no_stack_reason`, which must
  // live until then. Falls back to Capture() if the thread does not run any more. `cpu_ns` as for
  // Capture(). Context: watchdog.
  virtual void BeginCapture(int tid, int64_t cpu_ns, Stack* stack, NoStackReason* no_stack_reason) = 0;
  // Takes the outstanding answer, if there is one. Waits for it until the signal's timeout has passed since
  // BeginCapture(), and gives it up then. Context: watchdog.
  virtual void Collect() = 0;
  // The same for the answer that goes to `stack`, without a wait. Returns false if it is still outstanding: a
  // thread that gets no processor answers at its next turn. Context: watchdog.
  virtual bool TryCollect(const Stack& /*stack*/) { return true; }
  // Lets the answer that is outstanding for `from` go to `stack` and `no_stack_reason`, as if it had been
  // asked for now. Context: watchdog.
  virtual void Redirect(const Stack& /*from*/, Stack* /*stack*/, NoStackReason* /*no_stack_reason*/) {}

  // The stack of a thread that sleeps, read where it lies; never a signal. False when the thread
  // does not sleep, or went on meanwhile. `activity_fd` is the thread's ThreadFile::kActivity, or
  // -1. Context: watchdog.
  virtual bool CaptureAsleep(int tid, Stack* stack, int activity_fd = -1) = 0;

  // The stack of a thread of another process that runs, as the kernel samples it within `timeout_ns`: it is
  // not stopped. False where it did not run, or that is not permitted. Context: watchdog.
  virtual bool CaptureRunning(int /*tid*/, Stack* /*stack*/, int64_t /*timeout_ns*/) { return false; }

  // From now on, captures that unwind a stack also write the values that it still uses to `live`; null: no
  // more. Context: watchdog.
  void ReadLiveValues(LiveValues* live) { live_ = live; }

  // See CodeMap::modules().
  const ModuleMap& modules() const { return code_->modules(); }
  CodeMap& code() const { return *code_; }
  const CaptureCounters& counters() const { return counters_; }
  // 0 where captures use none.
  virtual int signal_number() const = 0;
  // Of the last capture. Context: watchdog.
  NoStackReason no_stack_reason() const { return no_stack_reason_; }
  // The call that the last capture interrupted, and that the thread was about to make again. False when it
  // did not interrupt one, or the kernel has not kept the call's number. Context: watchdog.
  virtual bool ReadInterruptedCall(BlockedThread* call) const = 0;
  // Files of threads that captures read by descriptors that are kept. Context: watchdog.
  ThreadFiles& thread_files() { return thread_files_; }
  // The last copy that a thread did not write while it slept. For tests.
  virtual RawStack* answer_for_test() = 0;

 protected:
  static FutexWait ToFutexWait(const BlockedThread& blocked) {
    const uint64_t* arguments = blocked.arguments;
    return {arguments[0], arguments[1], arguments[2], arguments[3], blocked.stack_pointer};
  }

  explicit StackCapturer(std::shared_ptr<CodeMap> code) : code_(std::move(code)) {}

  void Unwind(const RawStack& raw, Stack* stack) {
    if (live_ == nullptr) {
      code_->Unwind(raw, stack);
    } else {
      code_->UnwindLive(raw, stack, live_);
    }
    unwound_ = &raw;
  }
  // Adds what is no native frame, and counts how the capture ended.
  void FinishCapture(int tid, Stack* stack);

  std::shared_ptr<CodeMap> code_;
  ScriptStacks* scripts_ = nullptr;
  CaptureCounters counters_;
  NoStackReason no_stack_reason_ = NoStackReason::kNone;
  ThreadFiles thread_files_;
  LiveValues* live_ = nullptr;
  const RawStack* unwound_ = nullptr;  // by the capture under way
};

}  // namespace lagwatch::stack
