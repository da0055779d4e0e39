// SPDX-License-Identifier: Apache-2.0
// The wait chain across processes: from the last thread of the chain within the process
// (watchdog/samples/wait_chain.h) to the process that it waits for, the thread there that should answer, and
// so on. docs/design/peers.md shows why it can be trusted. Only reads: no signal, no ptrace(2); a
// running thread is sampled by the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/process/mapped_memory.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_library.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/peers/peer_target.h"
#include "watchdog/samples/wait_chain.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe.
class PeerChain {
 public:
  static constexpr size_t kMaxWaits = WaitChain::kMaxWaits;
  static constexpr int64_t kBudgetNs = 15'000'000;

  // Context: background; allocates all that it will ever need.
  PeerChain();
  // Instead of kBudgetNs, for tests.
  void set_budget_ns(int64_t budget_ns) { budget_ns_ = budget_ns; }
  // False when there was no memory.
  bool ok() const { return stacks_ != nullptr && capturer_ != nullptr; }

  // Follows the waits from thread `tid` on; `inner` is the chain from it within the process. `capturer` is
  // that of the watched process. Ends after kBudgetNs of the caller's processor time. With `hides_peers`,
  // names and stacks of other processes are left out, as those of other users' processes always are. True if
  // a wait for another process was found. The thread's dispatch has begun at `since_ns` (CLOCK_MONOTONIC).
  bool Follow(int32_t tid, const WaitChain& inner, stack::StackCapturer* capturer, bool hides_peers = false,
              int64_t since_ns = 0);

  // The result: the inner chain's waits and those that follow; valid until the next call.
  std::span<const Wait> waits() const { return {waits_.data(), count_}; }
  WaitOutcome outcome() const { return outcome_; }
  // The call over D-Bus that one of these waits is for, in this process; null: none.
  const BusCall* bus_call() const { return bus_call_.tid == 0 ? nullptr : &bus_call_; }

 private:
  static constexpr size_t kMaxNameBytes = ThreadSnapshot::kMaxNameBytes;

  // Evidence that a thread did not run in between.
  struct Rest {
    base::Thread thread;
    stack::BlockedThread blocked;
    int64_t switches = 0;
    bool is_owner_certain = true;  // no other thread of the owner's process can end the wait
  };
  enum class Step { kFollowed, kEnded };

  // Begins with the inner chain's waits; the thread that waits last.
  base::Thread Begin(int32_t tid, const WaitChain& inner);
  Step FollowFrom(const base::Thread& from, stack::StackCapturer* capturer, base::Thread* next);
  bool FindLockWithin(const base::Thread& from, const stack::BlockedThread& blocked,
                      const stack::Stack* stack, Wait* wait);
  void DescribeOwner(const base::Thread& owner, stack::StackCapturer* capturer, Wait* wait);
  const stack::Stack* CaptureStack(const base::Thread& thread, stack::StackCapturer* capturer);
  bool IsAtRest(const Rest& rest) const;
  bool IsWatched(const base::Thread& thread) const { return thread.process == watched_; }
  // The index of the thread's wait; count_ without one.
  size_t IndexOf(const base::Thread& thread) const;
  void Conclude(size_t cycle_begin, WaitOutcome inner);

  const stack::LockOwners* owners_ = nullptr;
  stack::TableLibrary tables_;  // never started: rules are looked up in the peers' memory
  std::unique_ptr<stack::StackCapturer> capturer_;
  std::array<Wait, kMaxWaits> waits_;
  std::array<Rest, kMaxWaits> rests_;
  char owner_names_[kMaxWaits][kMaxNameBytes];
  char process_names_[kMaxWaits][kMaxNameBytes];
  base::MappedBlock<stack::Stack> stacks_;  // kMaxWaits + 1
  size_t stack_count_ = 0;
  size_t count_ = 0;
  base::Process watched_;
  base::Process refreshed_;  // whose modules capturer_ knows; the own process: none's
  int64_t budget_ns_ = kBudgetNs;
  int64_t deadline_ns_ = 0;
  bool hides_peers_ = false;
  int64_t since_ns_ = 0;
  BusCall bus_call_;
  WaitOutcome outcome_ = WaitOutcome::kNone;
};

}  // namespace lagwatch::watchdog
