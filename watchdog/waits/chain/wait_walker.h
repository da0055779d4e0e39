// SPDX-License-Identifier: Apache-2.0
// Follows what a thread waits for: from a lock to its owner, to what that one waits for, and so on, until a
// thread runs, waits for nothing that is known, or occurs in the chain already. First within the process, by
// locks; then, if it is wanted, to the process that the last thread waits for, the thread there that should
// answer, and on from there. docs/design/locks.md and peers.md show why the chain can be trusted. Other
// processes are only read: no signal, no ptrace(2); a running thread there is sampled by the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/all/interpreter_stacks.h"
#include "stack/stack_capturer.h"
#include "stack/threads/lock_owner.h"
#include "stack/unwind/tables/table_library.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/waits/candidates/candidate.h"
#include "watchdog/waits/chain/initializers.h"
#include "watchdog/waits/chain/signal_stop.h"
#include "watchdog/waits/peers/peer_target.h"

namespace lagwatch::watchdog {

struct AwaitedObject;
class ObjectUses;
struct ConsideredThread;

// Context: watchdog; not thread-safe.
class WaitWalker {
 public:
  static constexpr size_t kMaxWaits = 16;
  static constexpr int64_t kPeerBudgetNs = 60'000'000;

  enum class Reach : uint8_t { kProcess, kPeers };

  // Context: background; allocates all that it will ever need.
  explicit WaitWalker(Reach reach = Reach::kProcess);
  // False when there was no memory.
  bool ok() const { return stacks_ != nullptr; }
  // Instead of kPeerBudgetNs, for tests.
  void set_peer_budget_ns(int64_t budget_ns) { peer_budget_ns_ = budget_ns; }

  // As LockOwners::MeasureLayouts(); to be called once, before the first Follow().
  int MeasureLayouts() { return owners_.MeasureLayouts(); }
  const stack::LockOwners& owners() const { return owners_; }

  // Follows the locks from thread `tid` on, within the process, capturing the stacks of all threads of the
  // chain; `capturer`'s modules must be fresh. A wait that changed meanwhile is left out, with all that
  // follow it, after a few tries to find it at rest. Returns the number of waits left out.
  uint32_t Follow(int32_t tid, stack::StackCapturer* capturer);
  void Clear();

  // Goes on from what Follow() has found of thread `tid`, with the same `capturer`, into other processes.
  // Ends after kPeerBudgetNs of the caller's processor time, with pauses in between for the rest of the
  // program. With `hides_peers`, names and stacks of other
  // processes are left out, as those of other users' processes always are. True if a wait for another process
  // was found; else all stays as it was. The thread's dispatch has begun at `since_ns` (CLOCK_MONOTONIC).
  bool FollowPeers(int32_t tid, stack::StackCapturer* capturer, bool hides_peers = false,
                   int64_t since_ns = 0);

  // The result, from `tid` on; valid until the next call.
  std::span<const Wait> waits() const { return {waits_.data(), count_}; }
  WaitOutcome outcome() const { return outcome_; }
  // Threads that could end the wait that Follow() has come to in the end, which has no owner.
  const Candidates& candidates() const { return candidates_; }
  // The functions of scripts and managed code in frames of other processes; null: none.
  const stack::ScriptFunctions* peer_functions() const {
    return peers_ == nullptr ? nullptr : &peers_->capturer->code().script_functions();
  }
  // The call over D-Bus that one of these waits is for, in this process; null: none.
  const BusCall* bus_call() const { return bus_call_.tid == 0 ? nullptr : &bus_call_; }

 private:
  static constexpr size_t kMaxNameBytes = ThreadSnapshot::kMaxNameBytes;
  // Each thread of the chain has one, and the last owner; the first may be captured twice.
  static constexpr size_t kStacks = kMaxWaits + 4;
  static constexpr size_t kSearchStack = kStacks;  // of the threads among which an owner is looked for

  // Evidence that a thread did not run in between.
  struct Rest {
    base::Thread thread;
    stack::BlockedThread blocked;
    std::optional<uint64_t> switches;
    bool is_hidden = false;  // `blocked` is from the thread itself, when it was interrupted
    // The turn of an interpreter's takes the place of `switches`.
    std::optional<stack::ScriptLock> script_lock;
    int32_t owner_by_stacks = 0;  // of a lock that has no place for its owner; 0: not known
    stack::LockKind kind_by_stacks = stack::LockKind::kUnknown;  // of the same lock
    bool is_owner_certain = true;  // no other thread of the owner's process can end the wait
  };
  static bool HasTurns(const Rest& rest) {
    return rest.script_lock && rest.script_lock->kind == stack::LockKind::kInterpreterLock;
  }
  // The number of times that the thread has gone to sleep; none if it is gone.
  static std::optional<uint64_t> ReadSwitches(const base::Thread& thread);
  enum class Step : uint8_t { kAdded, kEnded, kChanged };

  // Adds waits by `add(thread, &next)`, beginning with `thread`, as long as that returns kAdded. `*last`
  // becomes its last answer. Returns the index of the first wait of a cycle; kMaxWaits without one.
  template <typename Add>
  size_t Walk(base::Thread thread, Step* last, Add add);
  // The index of the thread's wait; count_ without one.
  size_t IndexOf(const base::Thread& thread) const;
  // Whether no thread of the cycle can go on by itself.
  bool IsForEver(size_t cycle_begin) const;

  // Of a thread of a language's own: nothing but evidence leads from its lock to an owner, so the chain goes
  // on only if it is a cycle.
  void FollowScriptThread(int32_t tid, stack::StackCapturer* capturer);
  void AddScriptCandidate(const stack::ScriptThreadWait& wait, stack::StackCapturer* capturer);
  // Within the process. Returns how many waits changed meanwhile.
  uint32_t TryFollow(int32_t tid, stack::StackCapturer* capturer);
  Step AddLock(const base::Thread& thread, stack::StackCapturer* capturer, base::Thread* next);
  // As LockOwners::Find(), or of the lock of a language that the thread runs.
  std::optional<stack::LockWait> FindLock(const Rest& rest, const stack::Stack& stack,
                                          const stack::ModuleMap& modules) const;
  // The owner of a lock that does not name it, and its kind, by the stacks of the process's threads; 0: not
  // known. `lock` is what the C library's words say of it. Linux.
  int32_t FindOwnerByStacks(const Rest& rest, const stack::Stack& stack,
                            const std::optional<stack::LockWait>& lock, stack::StackCapturer* capturer,
                            bool may_interrupt, stack::LockKind* kind);
  int32_t FindStopper(const Rest& rest, const SignalStop& stop, stack::StackCapturer* capturer,
                      bool may_interrupt);
  // The stack is valid until the next call.
  const stack::Stack& CaptureOther(int32_t tid, stack::StackCapturer* capturer, bool may_interrupt);
  int32_t FindRunner(const Rest& rest, const stack::Stack& stack, const Initializers::Wait& wait,
                     stack::StackCapturer* capturer, bool may_interrupt);
  // A wait that has no owner.
  struct Ownerless {
    Rest rest;
    stack::LockWait lock;
    const stack::Stack* stack = nullptr;
  };
  // Of the thread that Follow() began with, or that is last in its chain; false if there is none. Linux.
  bool FindOwnerless(int32_t tid, stack::StackCapturer* capturer, Ownerless* wait,
                     AwaitedObject* object) const;
  void FindCandidates(int32_t tid, stack::StackCapturer* capturer);
  void Consider(const base::Thread& thread, const Rest& rest, ObjectUses* uses,
                stack::StackCapturer* capturer, ConsideredThread* considered);
  static bool IsAtRest(const Rest& rest, stack::StackCapturer* capturer);
  bool HasNotMoved(size_t index, stack::StackCapturer* capturer) const;
  void NameOwners();

  // Across processes. Linux.
  struct Peers {
    stack::TableLibrary tables;  // never started: rules are looked up in the peers' memory
    stack::InterpreterStacks scripts{base::Process::Own()};  // of the process that is looked at
    std::unique_ptr<stack::StackCapturer> capturer;
    base::Process looked_at;  // the capturer knows its modules; the own process: of none
    BusCalls bus_calls;       // copied from the peer
  };
  // The common part of the steps of one call.
  struct Walked {
    stack::StackCapturer* capturer;  // of the watched process
    base::Process watched;
    bool hides_peers;
    int64_t since_ns;
    int64_t deadline_ns;
    int64_t pause_ns;  // the next one is due then, by the same clock

    bool IsWatched(const base::Thread& thread) const { return thread.process == watched; }
  };
  static void PauseIfDue(Walked* walked);
  static std::unique_ptr<Peers> MakePeers();
  bool KnowsModules(const base::Process& process, const Walked& walked) const;
  stack::StackCapturer& CapturerOf(const base::Process& process, const Walked& walked) const;
  // Drops the last wait if its owner is not in the process. Returns the thread that waits last.
  base::Thread RewindToPeer(const base::Thread& first);
  Step AddPeer(const base::Thread& from, const Walked& walked, base::Thread* next);
  bool FindPeer(const base::Thread& from, const Rest& rest, const Walked& walked, Wait* wait,
                PeerThread* peer);
  bool FindBusPeer(const base::Thread& from, const Rest& rest, const Walked& walked, const Wait& wait,
                   PeerTarget* target);
  bool IsIdleWorker(const base::Thread& thread, const Walked& walked);
  bool IsIdleAtBus(const base::Thread& owner, const Walked& walked, const Wait& wait) const;
  bool FindLockWithin(const Rest& rest, const stack::Stack* stack, Wait* wait);
  void DescribeOwner(const base::Thread& owner, const Walked& walked, Wait* wait);
  const stack::Stack* CaptureStack(const base::Thread& thread, const Walked& walked);

  stack::LockOwners owners_;
  Initializers initializers_;
  std::unique_ptr<Peers> peers_;  // null: waits are not followed into other processes
  std::array<Wait, kMaxWaits> waits_;
  std::array<Rest, kMaxWaits> rests_;
  char owner_names_[kMaxWaits][kMaxNameBytes];
  char process_names_[kMaxWaits][kMaxNameBytes];
  base::MappedBlock<stack::Stack> stacks_;
  size_t stack_count_ = 0;  // in use
  size_t count_ = 0;
  WaitOutcome outcome_ = WaitOutcome::kNone;
  BusCall bus_call_;
  Candidates candidates_;
  stack::LiveValues live_values_;
  int64_t peer_budget_ns_ = kPeerBudgetNs;
};

template <typename Add>
size_t WaitWalker::Walk(base::Thread thread, Step* last, Add add) {
  base::Thread next;
  while ((*last = add(thread, &next)) == Step::kAdded) {
    if (waits_[count_ - 1].lock.waits_for != stack::WaitsFor::kOwner) break;
    thread = next;
    const size_t known = IndexOf(thread);
    if (known < count_) return known;
  }
  return kMaxWaits;
}

}  // namespace lagwatch::watchdog
