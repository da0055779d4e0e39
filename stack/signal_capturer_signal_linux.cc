// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "stack/signal_capturer_linux.h"
#include "stack/signal_stacks.h"

namespace lagwatch::stack {
namespace {

constexpr int64_t kSpinNs = 30'000;  // in which nearly every answer has come

}  // namespace

SignalCapturer::SignalOutcome SignalCapturer::TrySignal(int tid, int64_t cpu_ns) {
  bool is_on_processor = false;
  const SignalOutcome prepared = PrepareSignal(tid, cpu_ns, &is_on_processor);
  return prepared == SignalOutcome::kAnswered ? SendAndWait(tid, is_on_processor, false) : prepared;
}

void SignalCapturer::BeginCapture(int tid, int64_t cpu_ns, Stack* stack, NoStackReason* no_stack_reason) {
  Begin();
  stack->Clear();
  no_stack_reason_ = NoStackReason::kNone;
  has_answer_ = false;
  bool is_on_processor = false;
  const SignalOutcome prepared = PrepareSignal(tid, cpu_ns, &is_on_processor);
  if (prepared == SignalOutcome::kAnswered && TrySend(tid, false)) {
    counters_.captures.Add();
    outstanding_ = {stack, no_stack_reason, tid, base::SystemClock().MonoNs(), base::ThreadCpuNs(tid)};
    return;
  }
  if (prepared == SignalOutcome::kAsleep) {
    Capture(tid, stack, kUnread);
  } else {
    counters_.captures.Add();
    FinishCapture(tid, stack);
  }
  *no_stack_reason = no_stack_reason_;
}

void SignalCapturer::Collect() {
  const Outstanding outstanding = std::exchange(outstanding_, {});
  if (outstanding.stack == nullptr) return;
  const int64_t waited_ns = base::SystemClock().MonoNs() - outstanding.sent_ns;
  no_stack_reason_ = NoStackReason::kNone;
  const bool is_new = waited_ns < kSpinNs;  // it is taken for another capture
  if (TakeOutcome(outstanding.tid, is_new, signal_timeout_ns_ - waited_ns)) {
    TakeAnswer(outstanding.stack);
  } else if (base::ThreadCpuNs(outstanding.tid) == outstanding.cpu_ns) {
    no_stack_reason_ = NoStackReason::kNoProcessor;
  }
  FinishCapture(outstanding.tid, outstanding.stack);
  *outstanding.no_stack_reason = no_stack_reason_;
}

bool SignalCapturer::TryCollect(const Stack& stack) {
  if (outstanding_.stack != &stack) return true;
  // Pairs with the handler's kDone.
  const uint64_t request = slot_->request.load(std::memory_order_acquire);
  if (request != CaptureSlot::Request(ticket_, CaptureSlot::kDone)) return false;
  Collect();
  return true;
}

void SignalCapturer::Redirect(const Stack& from, Stack* stack, NoStackReason* no_stack_reason) {
  stack->Clear();
  *no_stack_reason = NoStackReason::kNoAnswer;
  if (outstanding_.stack != &from) return;
  outstanding_.stack = stack;
  outstanding_.no_stack_reason = no_stack_reason;
  outstanding_.sent_ns = base::SystemClock().MonoNs();
}

SignalCapturer::SignalOutcome SignalCapturer::PrepareSignal(int tid, int64_t cpu_ns, bool* is_on_processor) {
  const bool runs_on = cpu_ns != kUnread;
  if (!runs_on) cpu_ns = base::ThreadCpuNs(tid);
  if (!MayBeSignalled(tid)) return SignalOutcome::kNoAnswer;
  if (!AwaitProgress(tid, &cpu_ns)) return Withhold(NoStackReason::kNoProcessor);
  // The last checks before the signal: the thread may have gone to sleep where a signal would be noticed, or
  // may have replaced the handler just now. The CPU clock of a thread on a processor advances from one
  // reading to the next, which is quicker and cheaper to see than in /proc; but /proc also shows a thread
  // about to sleep.
  *is_on_processor = base::ThreadCpuNs(tid) > cpu_ns;
  const bool still_runs_on = runs_on && *is_on_processor;
  return still_runs_on || MayBeInterrupted(tid) ? SignalOutcome::kAnswered : SignalOutcome::kAsleep;
}

SignalCapturer::SignalOutcome SignalCapturer::SignalHidden(int tid) {
  no_stack_reason_ = NoStackReason::kHidden;
  if (!signal_.restarts_calls || !RestartsHiddenAfterSignal(base::OwnThread(tid)) || !MayBeSignalled(tid))
    return SignalOutcome::kNoAnswer;
  // Once more, as late as possible: it may have gone on to sleep elsewhere.
  if (!RestartsHiddenAfterSignal(base::OwnThread(tid))) return SignalOutcome::kNoAnswer;
  counters_.sleepers_signalled.Add();
  return SendAndWait(tid, false, true);
}

bool SignalCapturer::MayBeSignalled(int tid) {
  if (IsHandlerCopying()) {  // an earlier one, which was put off in the middle
    counters_.signal_timeouts.Add();
    no_stack_reason_ = NoStackReason::kNoAnswer;
    return false;
  }
  if (signal_.number == 0) {
    Withhold(NoStackReason::kNoSignal);
    return false;
  }
  if (SignalStacks::MustNotSignal(tid)) {
    Withhold(NoStackReason::kSmallSignalStack);
    return false;
  }
  if (MayBlockSignal(tid)) {
    Withhold(NoStackReason::kSignalBlocked);
    return false;
  }
  return true;
}

bool SignalCapturer::MayBlockSignal(int tid) {
  if (!CaptureSignalOwner::IsRead(signal_.number))
    return !HasJustAnswered(tid) && IsSignalBlocked(base::OwnThread(tid), signal_.number);
  // The program would see a signal that its thread blocks before it is handled. So a thread that blocks it by
  // turns gets none: one that does for half of its time is noticed in all but 0.4 % of the cases.
  constexpr int kLooks = 8;
  int& blocker = blockers_[static_cast<size_t>(tid) % blockers_.size()];
  int64_t cpu_ns = base::ThreadCpuNs(tid);
  for (int i = 0; i < kLooks && blocker != tid; ++i) {
    if (IsSignalBlocked(base::OwnThread(tid), signal_.number) || !AwaitProgress(tid, &cpu_ns)) blocker = tid;
  }
  return blocker == tid;
}

SignalCapturer::SignalOutcome SignalCapturer::Withhold(NoStackReason reason) {
  counters_.signals_withheld.Add();
  no_stack_reason_ = reason;
  return SignalOutcome::kNoAnswer;
}

SignalCapturer::SignalOutcome SignalCapturer::SendAndWait(int tid, bool is_on_processor, bool was_asleep) {
  return TrySend(tid, was_asleep) && TakeOutcome(tid, is_on_processor, signal_timeout_ns_)
             ? SignalOutcome::kAnswered
             : SignalOutcome::kNoAnswer;
}

bool SignalCapturer::TrySend(int tid, bool was_asleep) {
  if (!CaptureSignalOwner::Owns(signal_.number)) {
    Withhold(NoStackReason::kNoSignal);
    return false;
  }
  if (!SignalStacks::TryBeginSend(slot_->index, tid)) {
    Withhold(NoStackReason::kSmallSignalStack);
    return false;
  }
  const bool is_sent = Send(tid, was_asleep);
  const bool is_gone = !is_sent && errno == ESRCH;
  SignalStacks::EndSend(slot_->index);
  if (!is_sent)
    no_stack_reason_ = is_gone ? NoStackReason::kGone : NoStackReason::kNoSignal;  // RLIMIT_SIGPENDING
  return is_sent;
}

bool SignalCapturer::TakeOutcome(int tid, bool is_on_processor, int64_t timeout_ns) {
  if (AwaitAnswer(is_on_processor, timeout_ns)) {
    NoteAnswer(tid);
    return true;
  }
  counters_.signal_timeouts.Add();
  no_stack_reason_ = NoStackReason::kNoAnswer;
  return false;
}

bool SignalCapturer::AwaitProgress(int tid, int64_t* cpu_ns) {
  // A thread that has used this much CPU time runs in the program, and is not just leaving a system call.
  constexpr int64_t kProgressNs = 5'000;
  constexpr int64_t kFirstPauseNs = 50'000;
  constexpr int64_t kLongestPauseNs = 1'000'000;
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const int64_t first_cpu_ns = *cpu_ns;
  for (int64_t pause_ns = kFirstPauseNs;;) {
    const int64_t last_cpu_ns = std::exchange(*cpu_ns, base::ThreadCpuNs(tid));
    if (*cpu_ns < 0) return false;
    const int64_t progress_ns = *cpu_ns - first_cpu_ns;
    if (progress_ns >= kProgressNs) return true;
    const int64_t now_ns = base::SystemClock().MonoNs();
    if (now_ns - begin_ns >= signal_timeout_ns_) return false;
    if (*cpu_ns != last_cpu_ns) {
      // It is on a processor. Another thread's clock is dear to read.
      while (base::SystemClock().MonoNs() - now_ns < kProgressNs - progress_ns) {
      }
      continue;
    }
    BlockedThread blocked;
    if (ReadThreadActivity(base::OwnThread(tid), &thread_files_, &blocked) != ThreadActivity::kRunning)
      return true;
    Pause(pause_ns);
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
}

bool SignalCapturer::AwaitAnswer(bool is_on_processor, int64_t timeout_ns) {
  const uint64_t done = CaptureSlot::Request(ticket_, CaptureSlot::kDone);
  // Polled, so that the handler needs no system call to wake us; at first without a pause if the thread is on
  // a processor, because waking up from one might take that very processor. The pauses grow as the answer
  // gets less likely.
  const int64_t spin_end_ns = base::SystemClock().MonoNs() + (is_on_processor ? kSpinNs : 0);
  while (base::SystemClock().MonoNs() < spin_end_ns) {
    if (slot_->request.load(std::memory_order_acquire) == done) return true;  // pairs with the handler
  }
  constexpr int64_t kFirstPauseNs = 10'000;
  constexpr int64_t kLongestPauseNs = 1'000'000;
  int64_t waited_ns = 0;
  for (int64_t pause_ns = kFirstPauseNs;; waited_ns += pause_ns) {
    if (slot_->request.load(std::memory_order_acquire) == done) return true;  // pairs with the handler
    if (waited_ns >= timeout_ns) break;
    Pause(pause_ns);
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
  uint64_t expected = CaptureSlot::Request(ticket_, CaptureSlot::kRequested);
  if (slot_->request.compare_exchange_strong(expected, CaptureSlot::Request(ticket_, CaptureSlot::kIdle)))
    return false;
  return expected == done;
}

bool SignalCapturer::IsHandlerCopying() const {
  uint64_t request = slot_->request.load(std::memory_order_acquire);  // pairs with the handler's kDone
  return CaptureSlot::StateOf(request) == CaptureSlot::kCopying;
}

bool SignalCapturer::Send(int tid, bool was_asleep) {
  siginfo_t info;
  std::memset(&info, 0, sizeof info);
  info.si_signo = signal_.number;
  info.si_code = SI_QUEUE;
  info.si_pid = slot_->process_id;
  info.si_uid = user_id_;
  info.si_value.sival_ptr = slot_->SignalValue(++ticket_, was_asleep);
  slot_->request.store(CaptureSlot::Request(ticket_, CaptureSlot::kRequested));
  if (syscall(SYS_rt_tgsigqueueinfo, info.si_pid, tid, signal_.number, &info) != 0) {
    slot_->request.store(CaptureSlot::Request(ticket_, CaptureSlot::kIdle));
    return false;
  }
  counters_.signals_sent.Add();
  return true;
}

bool SignalCapturer::HasJustAnswered(int tid) {
  constexpr int64_t kLongestNs = 100 * base::kNsPerMs;
  Answered& answered = answered_[static_cast<size_t>(tid) % answered_.size()];
  if (answered.tid != tid) return false;
  answered.tid = 0;  // until it answers again
  return base::SystemClock().MonoNs() - answered.mono_ns <= kLongestNs;
}

void SignalCapturer::NoteAnswer(int tid) {
  counters_.pause_ticks.Add(slot_->pause_ticks);
  answered_[static_cast<size_t>(tid) % answered_.size()] = {tid, base::SystemClock().MonoNs()};
}

}  // namespace lagwatch::stack
