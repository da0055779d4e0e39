// SPDX-License-Identifier: Apache-2.0
#include "stack/signal_capturer_linux.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/process/safe_memory.h"
#include "base/system/proc_ids.h"
#include "stack/sleeping_stack.h"

namespace lagwatch::stack {
base::Result<std::unique_ptr<StackCapturer>> StackCapturer::Create(const CaptureOptions& options,
                                                                   std::shared_ptr<CodeMap> code) {
  base::MatchProcIds();
  auto slot = CaptureSignalOwner::Join(options.signal_number);
  if (!slot.ok()) return slot.status();
  auto capturer = std::make_unique<SignalCapturer>(options, std::move(code), *slot);
  if (!capturer->ok()) return base::Status(base::StatusCode::kUnavailable, "no memory for a stack's copy");
  return std::unique_ptr<StackCapturer>(std::move(capturer));
}

void StackCapturer::AbandonAllInForkedChild() { CaptureSignalOwner::AbandonInForkedChild(); }

SignalCapturer::SignalCapturer(const CaptureOptions& options, std::shared_ptr<CodeMap> code,
                               CaptureSlot* slot)
    : StackCapturer(std::move(code)),
      signal_timeout_ns_(options.signal_timeout_ns),
      slot_(slot),
      signal_(CaptureSignalOwner::signal()),
      // Goes on where an earlier capturer with this slot left off, so that no ticket is used twice.
      ticket_(CaptureSlot::TicketOf(slot->request.load())),
      user_id_(getuid()),
      blocked_stack_(base::MapOwnBlock<RawStack>(1)) {
  slot->process_id = getpid();
}

SignalCapturer::~SignalCapturer() { CaptureSignalOwner::Leave(slot_); }

int SignalCapturer::KeepSignal() {
  const CaptureSignalOwner::Kept kept = CaptureSignalOwner::Keep();
  counters_.handler_lost.Add(kept.was_lost);
  counters_.handler_moved.Add(kept.is_moved);
  return kept.is_ours ? CaptureSignalOwner::signal().number : 0;
}

void SignalCapturer::Begin() {
  Collect();  // its slot is needed
  const CaptureSignalOwner::Signal signal = CaptureSignalOwner::signal();
  if (signal.number != signal_.number) answered_.fill({});
  signal_ = signal;
  static_assert(CaptureSlot::kMaxRegions >= ModuleMap::kMaxRanges);
  const auto state = CaptureSlot::StateOf(slot_->request.load());
  const bool is_in_use = state == CaptureSlot::kRequested || state == CaptureSlot::kCopying;
  if (code_->refresh_count() == regions_refresh_ || is_in_use) return;
  // A copy, because a late handler may outlive the capturer, and others may refresh meanwhile.
  slot_->stacks = code_->CopyStacks(slot_->regions, &regions_refresh_);
}

void SignalCapturer::Capture(int tid, Stack* stack, int64_t cpu_ns) {
  counters_.captures.Add();
  stack->Clear();
  Begin();
  // A thread that goes to sleep and wakes all the time is looked at again, rather than signalled: the signal
  // might reach it in its next sleep.
  constexpr int kTries = 8;
  constexpr int64_t kPauseNs = 20'000;
  bool was_asleep = false;
  no_stack_reason_ = NoStackReason::kNone;
  has_answer_ = false;
  for (int i = 0; i < kTries && !TryCapture(tid, cpu_ns, &was_asleep, stack); ++i) {
    cpu_ns = kUnread;
    Pause(kPauseNs);
  }
  FinishCapture(tid, stack);
}

bool SignalCapturer::TryCapture(int tid, int64_t cpu_ns, bool* was_asleep, Stack* stack) {
  if (cpu_ns == kUnread) {
    BlockedThread blocked;
    ThreadActivity activity = ReadThreadActivity(base::OwnThread(tid), &thread_files_, &blocked);
    if (activity == ThreadActivity::kGone) {
      no_stack_reason_ = NoStackReason::kGone;
      return true;
    }
    if (activity == ThreadActivity::kRunning && *was_asleep) return false;
    if (activity == ThreadActivity::kHidden) {
      if (SignalHidden(tid) == SignalOutcome::kAnswered) TakeAnswer(stack);
      return true;
    }
    if (activity == ThreadActivity::kBlocked) {
      *was_asleep = true;
      if (!TryReadBlocked(tid, blocked)) return false;
      Unwind(blocked_stack_[0], stack);
      if (stack->completeness != Completeness::kIncomplete || !MayInterrupt(blocked)) return true;
      counters_.sleepers_signalled.Add();
    }
  }
  switch (TrySignal(tid, cpu_ns)) {
    case SignalOutcome::kAsleep:
      *was_asleep = true;
      return false;
    case SignalOutcome::kNoAnswer:
      return true;
    case SignalOutcome::kAnswered:
      break;
  }
  TakeAnswer(stack);
  return true;
}

void SignalCapturer::TakeAnswer(Stack* stack) {
  has_answer_ = true;
  Unwind(slot_->stack, stack);
  slot_->request.store(CaptureSlot::Request(ticket_, CaptureSlot::kIdle));
}

bool SignalCapturer::CaptureAsleep(int tid, Stack* stack, int activity_fd) {
  counters_.captures.Add();
  Begin();
  stack->Clear();
  BlockedThread blocked;
  if (ReadThreadActivity(base::OwnThread(tid), activity_fd, &blocked) != ThreadActivity::kBlocked ||
      !TryReadBlocked(tid, blocked, activity_fd))
    return false;
  no_stack_reason_ = NoStackReason::kNone;
  Unwind(blocked_stack_[0], stack);
  FinishCapture(tid, stack);
  return true;
}

bool SignalCapturer::TryReadBlocked(int tid, const BlockedThread& blocked, int activity_fd) {
  if (activity_fd < 0) activity_fd = thread_files_.DescriptorOf(tid, ThreadFile::kActivity);
  if (!slot_->stacks.Knows(blocked.stack_pointer)) code_->NoteUnknownMemory();
  return ReadSleepingStack(base::OwnThread(tid), blocked, slot_->stacks, activity_fd, &blocked_stack_[0],
                           &no_stack_reason_);
}

void SignalCapturer::Pause(int64_t ns) {
  constexpr int64_t kLateNs = 500'000;  // as late as timers are; more has another reason
  const int64_t begin_ns = base::SystemClock().MonoNs();
  timespec duration{.tv_sec = ns / base::kNsPerSecond, .tv_nsec = ns % base::kNsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
  const int64_t waited_ns = std::min(base::SystemClock().MonoNs() - begin_ns, ns + kLateNs);
  counters_.waited_ns.Add(static_cast<uint64_t>(waited_ns));
}

bool SignalCapturer::ReadInterruptedCall(BlockedThread* call) const {
  if (!has_answer_) return false;
  const Registers& registers = slot_->stack.registers;
  *call = {};
  call->stack_pointer = registers.stack_pointer();
  call->program_counter = registers.program_counter();
  // The kernel has put the thread back to the instruction that makes the call.
#if defined(__x86_64__)
  constexpr uint16_t kCall = 0x050f;
  constexpr int kNumber = 0;                         // rax
  constexpr int kArguments[] = {5, 4, 1, 10, 8, 9};  // rdi, rsi, rdx, r10, r8, r9
#elif defined(__aarch64__)
  constexpr uint32_t kCall = 0xd4000001;
  constexpr int kNumber = 8;
  constexpr int kArguments[] = {0, 1, 2, 3, 4, 5};
#endif
  std::remove_const_t<decltype(kCall)> code;
  if (!base::ReadOwnValue(call->program_counter, &code) || code != kCall) return false;
  call->syscall_number = static_cast<int64_t>(registers.value[kNumber]);
  for (size_t i = 0; i < std::size(kArguments); ++i) call->arguments[i] = registers.value[kArguments[i]];
  return true;
}

bool SignalCapturer::MayInterrupt(const BlockedThread& blocked) const {
  return signal_.restarts_calls && blocked.RestartsAfterSignal();
}

bool SignalCapturer::MayBeInterrupted(int tid) const {
  BlockedThread blocked;
  switch (ReadThreadActivity(base::OwnThread(tid), &thread_files_, &blocked)) {
    case ThreadActivity::kRunning:
      return true;
    case ThreadActivity::kBlocked:
      return MayInterrupt(blocked);
    case ThreadActivity::kHidden:
    case ThreadActivity::kGone:
      break;
  }
  return false;
}

}  // namespace lagwatch::stack
