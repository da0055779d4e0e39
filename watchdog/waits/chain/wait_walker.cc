// SPDX-License-Identifier: Apache-2.0
#include "watchdog/waits/chain/wait_walker.h"

#include <algorithm>
#include <cstdio>

#include "base/process/own_memory.h"
#include "base/process/proc_file.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {
namespace {

constexpr int kTries = 3;

stack::LockWait ToWait(const stack::ScriptLock& lock, bool has_timeout) {
  return {lock.address, lock.kind, stack::WaitsFor::kOwner, has_timeout, lock.owner_tid};
}

bool IsLock(stack::LockKind kind) {
  return kind == stack::LockKind::kMutex || kind == stack::LockKind::kRwLock ||
         kind == stack::LockKind::kThread || kind >= stack::LockKind::kInterpreterLock;
}

}  // namespace

WaitWalker::WaitWalker(Reach reach)
    : peers_(reach == Reach::kPeers ? MakePeers() : nullptr),
      stacks_(base::MapOwnBlock<stack::Stack>(kStacks + 1)) {}

void WaitWalker::Clear() {
  count_ = 0;
  outcome_ = WaitOutcome::kNone;
  candidates_ = {};
}

uint32_t WaitWalker::Follow(int32_t tid, stack::StackCapturer* capturer) {
  if (stack::IsScriptThread(tid)) {
    FollowScriptThread(tid, capturer);
    return 0;
  }
  uint32_t changed = 0;
  for (int i = 0; i < kTries; ++i) {
    changed = TryFollow(tid, capturer);
    if (changed == 0) break;
  }
  if (outcome_ != WaitOutcome::kDeadlock) FindCandidates(tid, capturer);
  return changed;
}

void WaitWalker::FollowScriptThread(int32_t tid, stack::StackCapturer* capturer) {
  Clear();
  std::array<stack::ScriptThreadWait, kMaxWaits> found;
  size_t cycle_begin = kMaxWaits;
  for (int32_t next = tid; count_ < kMaxWaits && cycle_begin == kMaxWaits;) {
    const auto wait = capturer->FindScriptThreadWait(next);
    if (!wait) break;
    found[count_] = *wait;
    stack::Stack& stack = stacks_[count_];
    capturer->Capture(next, &stack);
    rests_[count_] = {.thread = capturer->thread(next), .blocked = {}, .switches = {}, .script_lock = {}};
    waits_[count_++] = {};
    waits_[count_ - 1].tid = static_cast<uint32_t>(next);
    waits_[count_ - 1].lock = {wait->address, wait->kind, stack::WaitsFor::kUnknown, false, 0};
    waits_[count_ - 1].frames = &stack;
    next = wait->candidate_tid;
    if (next == 0 || !wait->is_sure) break;
    const size_t known = IndexOf(capturer->thread(next));
    if (known < count_) cycle_begin = known;
  }
  for (size_t i = 0; i < count_ && cycle_begin < count_; ++i) {
    if (capturer->FindScriptThreadWait(rests_[i].thread.tid) != found[i]) cycle_begin = kMaxWaits;
  }
  if (count_ == 0) return;
  outcome_ = cycle_begin < count_ ? WaitOutcome::kDeadlock : WaitOutcome::kLock;
  if (outcome_ == WaitOutcome::kDeadlock) {
    for (size_t i = 0; i < count_; ++i) {
      waits_[i].lock.waits_for = stack::WaitsFor::kOwner;
      waits_[i].lock.owner_tid = found[i].candidate_tid;
      capturer->NameScriptThread(found[i].candidate_tid, owner_names_[i]);
      waits_[i].owner_name = owner_names_[i];
      waits_[i].owner_frames = waits_[IndexOf(capturer->thread(found[i].candidate_tid))].frames;
    }
  } else {
    count_ = 1;
    AddScriptCandidate(found[0], capturer);
  }
  stack_count_ = count_;
}

void WaitWalker::AddScriptCandidate(const stack::ScriptThreadWait& wait, stack::StackCapturer* capturer) {
  if (wait.candidate_tid == 0) return;
  Candidate& candidate = candidates_.best[candidates_.count++];
  candidate.tid = wait.candidate_tid;
  candidate.count = wait.candidate_count;
  std::snprintf(candidate.reason, sizeof candidate.reason, "%s", wait.reason);
  capturer->NameScriptThread(candidate.tid, candidate.name);
}

uint32_t WaitWalker::TryFollow(int32_t tid, stack::StackCapturer* capturer) {
  Clear();
  Step last;
  const size_t cycle_begin =
      Walk(capturer->thread(tid), &last,
           [&](const base::Thread& thread, base::Thread* next) { return AddLock(thread, capturer, next); });
  NameOwners();
  // Only now, when all have been read, so that they were all true at one and the same moment.
  const size_t followed = count_;
  {
    const auto held = capturer->code().Hold();
    for (count_ = 0; count_ < followed && HasNotMoved(count_, capturer);) ++count_;
  }
  if (count_ != 0) {
    const bool is_deadlock = count_ == followed && IsForEver(cycle_begin);
    outcome_ = is_deadlock                   ? WaitOutcome::kDeadlock
               : IsLock(waits_[0].lock.kind) ? WaitOutcome::kLock
                                             : WaitOutcome::kNone;
  }
  stack_count_ = count_ + 1;  // the last owner has one
  return static_cast<uint32_t>(followed - count_) + (last == Step::kChanged);
}

WaitWalker::Step WaitWalker::AddLock(const base::Thread& thread, stack::StackCapturer* capturer,
                                     base::Thread* next) {
  stack::Stack& stack = stacks_[count_];
  stack.Clear();
  const int32_t tid = thread.tid;
  stack::BlockedThread blocked;
  const stack::ThreadActivity activity =
      stack::ReadThreadActivity(thread, &capturer->thread_files(), &blocked);
  const bool is_hidden =
      activity == stack::ThreadActivity::kHidden && stack::RestartsHiddenAfterSignal(thread);
  const auto may_be_for_thread = [&] {
    return stack::LockOwners::IsInLockCall(blocked) || IsStopCall(blocked) ||
           capturer->FindScriptLock(tid, blocked);
  };
  bool may_wait = is_hidden || (activity == stack::ThreadActivity::kBlocked && may_be_for_thread());
  if (!may_wait && count_ == 0) return Step::kEnded;  // the usual case must cost nothing
  capturer->Capture(tid, &stack);
  if (is_hidden) may_wait = capturer->ReadInterruptedCall(&blocked) && may_be_for_thread();
  const policies::Doing doing = capturer->FindScriptWait(tid);
  may_wait = may_wait && doing != policies::Doing::kSleep && doing != policies::Doing::kProcess;
  if (!may_wait || count_ == kMaxWaits) return Step::kEnded;
  // After the capture, which may have woken the thread for a moment.
  Rest rest{.thread = thread,
            .blocked = blocked,
            .switches = ReadSwitches(thread),
            .is_hidden = is_hidden,
            .script_lock = IsStopCall(blocked) ? std::nullopt : capturer->FindScriptLock(tid, blocked)};
  if (rest.script_lock && rest.script_lock->owner_tid == tid) rest.script_lock.reset();
  if (!rest.switches || !IsAtRest(rest, capturer)) return Step::kChanged;
  const auto find = [&] {
    const auto held = capturer->code().Hold();
    return FindLock(rest, stack, capturer->modules());
  };
  auto lock = find();
  rest.owner_by_stacks =
      FindOwnerByStacks(rest, stack, lock, capturer, /*may_interrupt=*/true, &rest.kind_by_stacks);
  if (rest.owner_by_stacks != 0) lock = find();
  if (!lock) return Step::kEnded;
  rests_[count_] = rest;
  Wait& wait = waits_[count_++] = {};
  wait.tid = static_cast<uint32_t>(tid);
  wait.lock = *lock;
  wait.frames = &stack;
  *next = {thread.process, lock->owner_tid};
  return Step::kAdded;
}

// A thread that waits for an interpreter's lock or for a monitor asks for it again and again, with a timeout,
// until it has a turn.
std::optional<stack::LockWait> WaitWalker::FindLock(const Rest& rest, const stack::Stack& stack,
                                                    const stack::ModuleMap& modules) const {
  const auto& script_lock = rest.script_lock;
  if (script_lock && !script_lock->may_time_out) return ToWait(*script_lock, /*has_timeout=*/false);
  auto lock = owners_.Find(rest.blocked, stack, modules);
  if (rest.owner_by_stacks != 0 && (!lock || lock->waits_for != stack::WaitsFor::kOwner)) {
    if (!lock) lock = {.address = rest.blocked.arguments[0], .has_timeout = rest.blocked.arguments[3] != 0};
    lock->kind = rest.kind_by_stacks;
    lock->waits_for = stack::WaitsFor::kOwner;
    lock->owner_tid = rest.owner_by_stacks;
  }
  return script_lock ? ToWait(*script_lock, lock && lock->has_timeout) : lock;
}

// A hidden thread that sleeps again after the signal was made to go back into its call: the program has not
// run since, if the thread has not been woken once more. While a script's lock is in the same turn, the
// threads that wait for it have waited without a break.
bool WaitWalker::IsAtRest(const Rest& rest, stack::StackCapturer* capturer) {
  stack::BlockedThread now;
  const stack::ThreadActivity activity =
      stack::ReadThreadActivity(rest.thread, &capturer->thread_files(), &now);
  if (rest.is_hidden) return activity == stack::ThreadActivity::kHidden;
  if (activity != stack::ThreadActivity::kBlocked) return false;
  if (!HasTurns(rest) && now != rest.blocked) return false;
  if (!rest.script_lock) return true;
  return capturer->FindScriptLock(rest.thread.tid, now) == rest.script_lock;
}

bool WaitWalker::HasNotMoved(size_t index, stack::StackCapturer* capturer) const {
  const Wait& wait = waits_[index];
  const Rest& rest = rests_[index];
  return FindLock(rest, *wait.frames, capturer->modules()) == wait.lock && IsAtRest(rest, capturer) &&
         (HasTurns(rest) || ReadSwitches(rest.thread) == rest.switches);
}

std::optional<uint64_t> WaitWalker::ReadSwitches(const base::Thread& thread) {
  char buffer[16 * 1024];  // on a large machine, much of the file is about processors
  return base::NumberInLine(
      base::ReadSmallFile(base::TaskPath(thread, "status").c_str(), buffer, sizeof buffer),
      "voluntary_ctxt_switches:");
}

void WaitWalker::NameOwners() {
  for (size_t i = 0; i < count_; ++i) {
    Wait& wait = waits_[i];
    if (wait.lock.waits_for != stack::WaitsFor::kOwner) continue;
    const base::Thread owner{rests_[i].thread.process, wait.lock.owner_tid};
    stack::ReadThreadName(owner, owner_names_[i], kMaxNameBytes);
    wait.owner_name = owner_names_[i];
    wait.owner_frames = &stacks_[IndexOf(owner)];
  }
}

bool WaitWalker::IsForEver(size_t cycle_begin) const {
  if (cycle_begin >= count_) return false;
  for (size_t i = cycle_begin; i < count_; ++i) {
    // A call over D-Bus fails after its time; it is not answered before.
    const stack::LockWait& lock = waits_[i].lock;
    const bool may_end = lock.has_timeout && lock.kind != stack::LockKind::kBusCall;
    if (may_end || waits_[i].is_owner_idle || !rests_[i].is_owner_certain) return false;
  }
  return true;
}

size_t WaitWalker::IndexOf(const base::Thread& thread) const {
  const auto end = rests_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto known =
      std::find_if(rests_.begin(), end, [&](const Rest& rest) { return rest.thread == thread; });
  return static_cast<size_t>(known - rests_.begin());
}

}  // namespace lagwatch::watchdog
