// SPDX-License-Identifier: Apache-2.0
// The wait chain: from a thread that waits for a lock to the lock's owner, to the lock that that one waits
// for, and so on, until a thread runs, waits for no lock, or occurs in the chain already.
// docs/design/locks.md shows why it can be trusted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/process/mapped_memory.h"
#include "stack/stack_capturer.h"
#include "stack/threads/lock_owner.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe.
class WaitChain {
 public:
  static constexpr size_t kMaxWaits = 16;

  // Context: background; allocates all that it will ever need.
  WaitChain();
  // False when there was no memory.
  bool ok() const { return stacks_ != nullptr; }

  // As LockOwners::MeasureLayouts(); to be called once, before the first Follow().
  int MeasureLayouts() { return owners_.MeasureLayouts(); }

  const stack::LockOwners& owners() const { return owners_; }

  // Follows the chain from thread `tid`, capturing the stacks of all its threads; `capturer`'s modules must
  // be fresh. A wait that changed meanwhile is left out, with all that follow it, after a few tries to find
  // it at rest. Returns the number of waits left out.
  uint32_t Follow(int32_t tid, stack::StackCapturer* capturer);
  void Clear();

  // The result of Follow(), from `tid` on; valid until the next call.
  std::span<const Wait> waits() const { return {waits_.data(), count_}; }
  WaitOutcome outcome() const { return outcome_; }

 private:
  // Evidence that a thread did not run in between.
  struct Rest {
    stack::BlockedThread blocked;
    uint64_t switches;
    bool is_hidden;  // `blocked` is from the thread itself, when it was interrupted
    std::optional<stack::ScriptLock>
        script_lock;  // the turn of an interpreter's takes the place of `switches`
  };
  static bool HasTurns(const Rest& rest) {
    return rest.script_lock && rest.script_lock->kind == stack::LockKind::kInterpreterLock;
  }
  enum class Step { kAdded, kEnded, kChanged };

  // Returns how many waits changed meanwhile.
  uint32_t TryFollow(int32_t tid, stack::StackCapturer* capturer);
  Step TryAdd(int32_t tid, stack::StackCapturer* capturer);
  // As LockOwners::Find(), or of the lock of a language that the thread runs.
  std::optional<stack::LockWait> FindLock(const Rest& rest, const stack::Stack& stack,
                                          const stack::ModuleMap& modules) const;
  static bool IsAtRest(int32_t tid, const Rest& rest, stack::StackCapturer* capturer);
  bool HasNotMoved(size_t index, stack::StackCapturer* capturer) const;
  void NameOwners(const base::Process& process);
  void Conclude(size_t cycle_begin);
  // The index of `tid`'s wait; count_ without one.
  size_t IndexOf(int32_t tid) const;

  stack::LockOwners owners_;
  std::array<Wait, kMaxWaits> waits_;
  std::array<Rest, kMaxWaits> rests_;
  char owner_names_[kMaxWaits][ThreadSnapshot::kMaxNameBytes];
  base::MappedBlock<stack::Stack> stacks_;  // of the waits' threads, and of the last owner
  size_t count_ = 0;
  WaitOutcome outcome_ = WaitOutcome::kNone;
};

}  // namespace lagwatch::watchdog
