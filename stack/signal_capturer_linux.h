// SPDX-License-Identifier: Apache-2.0
// The capturer by a signal: see stack/stack_capturer.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/process/mapped_memory.h"
#include "stack/capture_signal_owner.h"
#include "stack/signal/signal_handler.h"
#include "stack/stack_capturer.h"

namespace lagwatch::stack {

class SignalCapturer final : public StackCapturer {
 public:
  // Owns `slot` from now on. Context: background.
  SignalCapturer(const CaptureOptions& options, std::shared_ptr<CodeMap> code, CaptureSlot* slot);
  // False when there was no memory: then it is of no use.
  bool ok() const { return blocked_stack_ != nullptr; }
  ~SignalCapturer() override;

  int KeepSignal() override;
  void Capture(int tid, Stack* stack, int64_t cpu_ns) override;
  void BeginCapture(int tid, int64_t cpu_ns, Stack* stack, NoStackReason* no_stack_reason) override;
  void Collect() override;
  bool TryCollect(const Stack& stack) override;
  void Redirect(const Stack& from, Stack* stack, NoStackReason* no_stack_reason) override;
  bool CaptureAsleep(int tid, Stack* stack, int activity_fd) override;
  int signal_number() const override { return CaptureSignalOwner::signal().number; }
  bool ReadInterruptedCall(BlockedThread* call) const override;
  RawStack* answer_for_test() override { return &slot_->stack; }

 private:
  // Brings up to date what others may have changed since the last capture.
  void Begin();
  // False when the thread is gone. `was_asleep` goes with the signal.
  bool Send(int tid, bool was_asleep);

  // False when the thread changed between running and sleeping meanwhile: then it is worth another try.
  // `was_asleep` becomes true once it was seen to sleep, after which it gets no signal.
  bool TryCapture(int tid, int64_t cpu_ns, bool* was_asleep, Stack* stack);
  // Unwinds what the handler has copied.
  void TakeAnswer(Stack* stack);
  bool TryReadBlocked(int tid, const BlockedThread& blocked, int activity_fd = -1);
  enum class SignalOutcome { kAnswered, kNoAnswer, kAsleep };
  SignalOutcome TrySignal(int tid, int64_t cpu_ns);
  // The part before the signal is sent. kAnswered: may be sent.
  SignalOutcome PrepareSignal(int tid, int64_t cpu_ns, bool* is_on_processor);
  // For a hidden thread, in a call that restarts.
  SignalOutcome SignalHidden(int tid);
  // Whether a signal may be sent to that thread at all.
  bool MayBeSignalled(int tid);
  bool MayBlockSignal(int tid);
  SignalOutcome Withhold(NoStackReason reason);
  SignalOutcome SendAndWait(int tid, bool is_on_processor, bool was_asleep);
  // False when it cannot be sent; no_stack_reason() says why.
  bool TrySend(int tid, bool was_asleep);
  // Whether the answer has come, for which it waits until `timeout_ns` after the signal.
  bool TakeOutcome(int tid, bool is_on_processor, int64_t timeout_ns);
  // Waits until the thread has used a processor for a while since its CPU clock showed `cpu_ns`, which is
  // brought up to date, for the signal's timeout at most: one that only waits for one may be on its way out
  // of a system call, which a signal would still make fail. True, too, when it sleeps by now.
  bool AwaitProgress(int tid, int64_t* cpu_ns);
  bool AwaitAnswer(bool is_on_processor, int64_t timeout_ns);
  bool HasJustAnswered(int tid);
  void NoteAnswer(int tid);
  void Pause(int64_t ns);
  bool IsHandlerCopying() const;
  bool MayInterrupt(const BlockedThread& blocked) const;
  bool MayBeInterrupted(int tid) const;

  int64_t signal_timeout_ns_;
  CaptureSlot* slot_;
  uint32_t regions_refresh_ = 0;       // the number of the code map's refresh that they are of
  CaptureSignalOwner::Signal signal_;  // of the capture under way
  uint32_t ticket_;                    // of the last request
  uint32_t user_id_;
  // Threads that answered a moment ago, whose masks need not be asked for again; by tid.
  struct Answered {
    int tid = 0;
    int64_t mono_ns = 0;
  };
  std::array<Answered, 64> answered_{};
  // Threads that blocked the signal in a program that reads signals; by tid.
  std::array<int, 64> blockers_{};
  bool has_answer_ = false;  // the last capture, to its signal
  // The capture whose answer is outstanding.
  struct Outstanding {
    Stack* stack = nullptr;  // null: there is none
    NoStackReason* no_stack_reason = nullptr;
    int tid = 0;
    int64_t sent_ns = 0;
    int64_t cpu_ns = 0;  // of the thread by then
  };
  Outstanding outstanding_;
  base::MappedBlock<RawStack> blocked_stack_;  // one
};

}  // namespace lagwatch::stack
