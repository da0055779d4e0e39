// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/wait_chain.h"

#include <algorithm>

#include "base/process/own_memory.h"
#include "base/process/proc_file.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {
namespace {

constexpr int kTries = 3;

// The number of times that the thread has gone to sleep; none if it is gone.
std::optional<uint64_t> ReadSwitches(const base::Thread& thread) {
  char buffer[16 * 1024];  // on a large machine, much of the file is about processors
  return base::NumberInLine(
      base::ReadSmallFile(base::TaskPath(thread, "status").c_str(), buffer, sizeof buffer),
      "voluntary_ctxt_switches:");
}

stack::LockWait ToWait(const stack::ScriptLock& lock, bool has_timeout) {
  return {lock.address, lock.kind, stack::WaitsFor::kOwner, has_timeout, lock.owner_tid};
}

}  // namespace

WaitChain::WaitChain() : stacks_(base::MapOwnBlock<stack::Stack>(kMaxWaits + 1)) {}

void WaitChain::Clear() {
  count_ = 0;
  outcome_ = WaitOutcome::kNone;
}

uint32_t WaitChain::Follow(int32_t tid, stack::StackCapturer* capturer) {
  uint32_t changed = 0;
  for (int i = 0; i < kTries; ++i) {
    changed = TryFollow(tid, capturer);
    if (changed == 0) break;
  }
  return changed;
}

uint32_t WaitChain::TryFollow(int32_t tid, stack::StackCapturer* capturer) {
  Clear();
  Step step;
  size_t cycle_begin = kMaxWaits;
  while ((step = TryAdd(tid, capturer)) == Step::kAdded) {
    const Wait& added = waits_[count_ - 1];
    if (added.lock.waits_for != stack::WaitsFor::kOwner) break;
    tid = added.lock.owner_tid;
    size_t known = IndexOf(tid);
    if (known == count_) continue;
    cycle_begin = known;
    break;
  }
  NameOwners(capturer->process());
  // Only now, when all have been read, so that they were all true at one and the same moment.
  const size_t followed = count_;
  {
    const auto held = capturer->code().Hold();
    for (count_ = 0; count_ < followed && HasNotMoved(count_, capturer);) ++count_;
  }
  Conclude(count_ == followed ? cycle_begin : kMaxWaits);
  return static_cast<uint32_t>(followed - count_) + (step == Step::kChanged);
}

WaitChain::Step WaitChain::TryAdd(int32_t tid, stack::StackCapturer* capturer) {
  stack::Stack& stack = stacks_[count_];
  stack.Clear();
  stack::BlockedThread blocked;
  const stack::ThreadFiles& files = capturer->thread_files();
  const stack::ThreadActivity activity = stack::ReadThreadActivity(capturer->thread(tid), &files, &blocked);
  const bool is_hidden =
      activity == stack::ThreadActivity::kHidden && stack::RestartsHiddenAfterSignal(capturer->thread(tid));
  bool may_wait =
      is_hidden || (activity == stack::ThreadActivity::kBlocked && stack::LockOwners::IsInLockCall(blocked));
  if (!may_wait && count_ == 0) return Step::kEnded;  // the usual case must cost nothing
  capturer->Capture(tid, &stack);
  if (is_hidden)
    may_wait = capturer->ReadInterruptedCall(&blocked) && stack::LockOwners::IsInLockCall(blocked);
  if (!may_wait || count_ == kMaxWaits) return Step::kEnded;
  // After the capture, which may have woken the thread for a moment.
  auto switches = ReadSwitches(capturer->thread(tid));
  Rest rest{blocked, switches.value_or(0), is_hidden, capturer->FindScriptLock(tid, blocked)};
  if (rest.script_lock && rest.script_lock->owner_tid == tid) rest.script_lock.reset();
  if (!switches || !IsAtRest(tid, rest, capturer)) return Step::kChanged;
  auto lock = [&] {
    const auto held = capturer->code().Hold();
    return FindLock(rest, stack, capturer->modules());
  }();
  if (!lock) return Step::kEnded;
  rests_[count_] = rest;
  Wait& wait = waits_[count_++] = {};
  wait.tid = static_cast<uint32_t>(tid);
  wait.lock = *lock;
  wait.frames = &stack;
  return Step::kAdded;
}

// A thread that waits for an interpreter's lock or for a monitor asks for it again and again, with a timeout,
// until it has a turn.
std::optional<stack::LockWait> WaitChain::FindLock(const Rest& rest, const stack::Stack& stack,
                                                   const stack::ModuleMap& modules) const {
  const auto& script_lock = rest.script_lock;
  if (script_lock && !script_lock->may_time_out) return ToWait(*script_lock, /*has_timeout=*/false);
  const auto lock = owners_.Find(rest.blocked, stack, modules);
  return script_lock ? ToWait(*script_lock, lock && lock->has_timeout) : lock;
}

// A hidden thread that sleeps again after the signal was made to go back into its call: the program has not
// run since, if the thread has not been woken once more. While a script's lock is in the same turn, the
// threads that wait for it have waited without a break.
bool WaitChain::IsAtRest(int32_t tid, const Rest& rest, stack::StackCapturer* capturer) {
  stack::BlockedThread now;
  const stack::ThreadActivity activity =
      stack::ReadThreadActivity(capturer->thread(tid), &capturer->thread_files(), &now);
  if (rest.is_hidden) return activity == stack::ThreadActivity::kHidden;
  if (activity != stack::ThreadActivity::kBlocked) return false;
  if (!HasTurns(rest) && now != rest.blocked) return false;
  if (!rest.script_lock) return true;
  return stack::LockOwners::IsInLockCall(now) && capturer->FindScriptLock(tid, now) == rest.script_lock;
}

bool WaitChain::HasNotMoved(size_t index, stack::StackCapturer* capturer) const {
  const Wait& wait = waits_[index];
  const Rest& rest = rests_[index];
  const auto tid = static_cast<int32_t>(wait.tid);
  return FindLock(rest, *wait.frames, capturer->modules()) == wait.lock && IsAtRest(tid, rest, capturer) &&
         (HasTurns(rest) || ReadSwitches(capturer->thread(tid)) == rest.switches);
}

void WaitChain::NameOwners(const base::Process& process) {
  for (size_t i = 0; i < count_; ++i) {
    Wait& wait = waits_[i];
    if (wait.lock.waits_for != stack::WaitsFor::kOwner) continue;
    char(&name)[ThreadSnapshot::kMaxNameBytes] = owner_names_[i];
    stack::ReadThreadName({process, wait.lock.owner_tid}, name, sizeof name);
    wait.owner_name = name;
    wait.owner_frames = &stacks_[IndexOf(wait.lock.owner_tid)];
  }
}

void WaitChain::Conclude(size_t cycle_begin) {
  if (count_ == 0) return;
  auto is_for_ever = [](const Wait& wait) { return !wait.lock.has_timeout; };
  stack::LockKind first = waits_[0].lock.kind;
  auto at = [this](size_t index) { return waits_.begin() + static_cast<std::ptrdiff_t>(index); };
  if (cycle_begin < count_ && std::all_of(at(cycle_begin), at(count_), is_for_ever)) {
    outcome_ = WaitOutcome::kDeadlock;
  } else if (first == stack::LockKind::kMutex || first == stack::LockKind::kRwLock ||
             first == stack::LockKind::kThread || first >= stack::LockKind::kInterpreterLock) {
    outcome_ = WaitOutcome::kLock;
  }
}

size_t WaitChain::IndexOf(int32_t tid) const {
  auto end = waits_.begin() + static_cast<std::ptrdiff_t>(count_);
  return static_cast<size_t>(
      std::find_if(waits_.begin(), end,
                   [&](const Wait& wait) { return wait.tid == static_cast<uint32_t>(tid); }) -
      waits_.begin());
}

}  // namespace lagwatch::watchdog
