// SPDX-License-Identifier: Apache-2.0
// Looks at all threads for evidence that they could end a wait that has no owner. docs/design/locks.md.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "watchdog/waits/candidates/evidence.h"
#include "watchdog/waits/candidates/object_use.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/process_search.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using stack::LockKind;
using stack::WaitsFor;

constexpr int64_t kCandidatesBudgetNs = 20'000'000;  // of the watchdog's processor time
constexpr int64_t kCandidatesWallNs = 100'000'000;   // threads that run are waited for, and the report waits

// The value that a future waits with, and its place in libstdc++'s shared state (<future>): behind the table
// of functions, two counters and the result's address.
constexpr uint32_t kFutureAwaited = 0x80000000;
constexpr uint64_t kFutexInState = 16;
// The state's address is on the stack of a thread that runs a std::packaged_task at least so often (4 with
// -O1 to -O3, 7 with -O0), and up to 3 times on that of one that has the future and the task.
constexpr size_t kHitsOfTask = 4;

constexpr std::string_view kEventCount = "eventfd-count:";  // in the fdinfo of an eventfd

bool IsForFuture(const stack::BlockedThread& blocked) {
  return stack::LockOwners::IsInLockCall(blocked) &&
         static_cast<uint32_t>(blocked.arguments[2]) == kFutureAwaited;
}

// A condition of glibc has 48 bytes, and its threads wait at one of the last two words; a barrier's wait at
// the second one.
AwaitedObject ObjectOfLock(const stack::BlockedThread& blocked, const stack::LockWait& lock) {
  const uint64_t futex = blocked.arguments[0];
  AwaitedObject object{.futex = futex, .before_bytes = 0};
  if (lock.kind == LockKind::kCondition) object.before_bytes = 44;
  if (lock.kind == LockKind::kBarrier) object.before_bytes = 4;
  if (lock.kind == LockKind::kRwLock) object.before_bytes = futex - std::min(futex, lock.address);
  if (IsForFuture(blocked)) object.before_bytes = kFutexInState;
  return object;
}

// The only event of a thread that waits for nothing else, in a set or alone.
int AwaitedEvent(const base::Thread& thread, const stack::BlockedThread& blocked) {
  const std::optional<WaitSet> set = SetOf(blocked);
  if (!set || WhatSetAwaits(thread, blocked) != policies::Doing::kLock) return kNoDescriptor;
  int room[8];
  int only = kNoDescriptor;
  int count = 0;
  for (const int descriptor : ReadSet(thread, *set, room)) {
    if (!NumberInFdInfo(thread, descriptor, kEventCount)) continue;
    only = descriptor;
    ++count;
  }
  return count == 1 ? only : kNoDescriptor;
}

// The descriptors of the process that can end the thread's wait for one; none where another process has the
// other end.
AwaitedObject ObjectOfDescriptor(const base::Thread& thread, const stack::BlockedThread& blocked) {
  AwaitedObject object;
  const WaitObject awaited = ObjectOfWait(thread, blocked);
  const bool is_descriptor = awaited.kind == WaitObject::Kind::kDescriptor;
  const int only = is_descriptor ? awaited.number : AwaitedEvent(thread, blocked);
  if (only == kNoDescriptor) return object;
  if (NumberInFdInfo(thread, only, kEventCount)) {
    object.ends[object.end_count++] = only;
    return object;
  }
  PeerTarget target;
  const int64_t deadline_ns = SearchClockNs() + kCandidatesBudgetNs;
  if (!is_descriptor || !FindPeerTarget(thread, blocked, deadline_ns, &target) || target.link[0] == '\0')
    return object;
  object.end_count = FindEndsIn(thread.process, target, deadline_ns, object.ends).size();
  return object;
}

// Of the frames, the outermost of the program's own; else the outermost one.
void SetFunctions(const stack::Stack& stack, const stack::ModuleMap& modules, ConsideredThread* thread) {
  const auto is_of_program = [&](const stack::Frame& frame) {
    return frame.module != stack::kNoModule && !IsOfSystem(modules.module(frame.module));
  };
  const auto frames = stack.view();
  if (frames.empty()) return;
  if (stack.HasOutermost()) thread->start = frames.back().FunctionHash();
  const auto innermost = std::find_if(frames.begin(), frames.end(), is_of_program);
  if (innermost == frames.end()) return;
  thread->place = innermost->FunctionHash();
  const auto outermost = std::find_if(frames.rbegin(), frames.rend(), is_of_program);
  if (stack.HasOutermost()) thread->start = outermost->FunctionHash();
}

// glibc: the number of threads that have come so far, of rounds before, and of those that must come.
void SetBarrier(const base::Process& process, uint64_t futex, ConsideredThreads* threads) {
  constexpr uint32_t kMost = 1 << 16;
  uint32_t words[3];
  if (!process.ReadValue(futex - sizeof words[0], &words)) return;
  const uint32_t arrived = words[0] - words[1];
  if (arrived != 0 && arrived < words[2] && words[2] < kMost) threads->SetBarrier(arrived, words[2]);
}

bool IsAtEnd(const AwaitedObject& object, const stack::BlockedThread& blocked) {
  const base::DescriptorUse use = blocked.call().use;
  return (use == base::DescriptorUse::kReads || use == base::DescriptorUse::kWrites) &&
         object.HasEnd(blocked.arguments[0]);
}

}  // namespace

bool WaitWalker::FindOwnerless(int32_t tid, stack::StackCapturer* capturer, Ownerless* wait,
                               AwaitedObject* object) const {
  wait->rest = {.thread = capturer->thread(tid), .blocked = {}, .switches = {}, .script_lock = {}};
  Rest& rest = wait->rest;
  const bool is_after_owner = count_ != 0 && waits_[count_ - 1].lock.waits_for == WaitsFor::kOwner;
  wait->stack = &stacks_[is_after_owner ? count_ : 0];
  if (count_ != 0 && !is_after_owner) {
    rest = rests_[count_ - 1];
    wait->lock = waits_[count_ - 1].lock;
    wait->stack = waits_[count_ - 1].frames;
    *object = ObjectOfLock(rest.blocked, wait->lock);
  } else {
    if (is_after_owner) rest.thread.tid = waits_[count_ - 1].lock.owner_tid;
    if (IndexOf(rest.thread) < count_) return false;  // a cycle that a time limit ends
    if (stack::ReadThreadActivity(rest.thread, &capturer->thread_files(), &rest.blocked) !=
        stack::ThreadActivity::kBlocked)
      return false;
    // A lock of another C library's has no wait in the chain.
    *object = stack::LockOwners::IsInLockCall(rest.blocked) ? ObjectOfLock(rest.blocked, wait->lock)
                                                            : ObjectOfDescriptor(rest.thread, rest.blocked);
  }
  object->stack_pointer = rest.blocked.stack_pointer;
  const policies::Doing by_script = capturer->FindScriptWait(rest.thread.tid);
  return (object->futex != 0 || object->end_count != 0) && by_script != policies::Doing::kSleep &&
         by_script != policies::Doing::kProcess;
}

void WaitWalker::FindCandidates(int32_t tid, stack::StackCapturer* capturer) {
  Ownerless wait;
  AwaitedObject object;
  if (!FindOwnerless(tid, capturer, &wait, &object)) return;
  const base::Thread& waiting_thread = wait.rest.thread;
  const int64_t deadline_ns = SearchClockNs() + kCandidatesBudgetNs;
  const int64_t wall_deadline_ns = base::SystemClock().MonoNs() + kCandidatesWallNs;
  ConsideredThread waiting{.tid = waiting_thread.tid};
  {
    const auto held = capturer->code().Hold();
    SetFunctions(*wait.stack, capturer->modules(), &waiting);
  }
  ConsideredThreads threads(waiting);
  if (wait.lock.kind == LockKind::kBarrier) SetBarrier(waiting_thread.process, object.futex, &threads);
  ObjectUses uses(object);
  capturer->ReadLiveValues(&live_values_);
  base::ForEachThread(waiting_thread.process, [&](int other_tid) {
    const base::Thread thread{waiting_thread.process, other_tid};
    const bool is_caller = other_tid == gettid() && thread.process.is_own();
    if (thread == waiting_thread || is_caller || IsLagwatchsThread(thread)) return true;
    ConsideredThread considered{.tid = other_tid, .is_main = other_tid == thread.process.pid()};
    Consider(thread, wait.rest, &uses, capturer, &considered);
    threads.Add(considered);
    const bool may_go_on = SearchClockNs() < deadline_ns && base::SystemClock().MonoNs() < wall_deadline_ns;
    if (!may_go_on) threads.MissSome();
    return may_go_on;
  });
  capturer->ReadLiveValues(nullptr);
  candidates_ = threads.Judge();
  for (size_t i = 0; i < candidates_.count; ++i) {
    Candidate& candidate = candidates_.best[i];
    stack::ReadThreadName({waiting_thread.process, candidate.tid}, candidate.name, sizeof candidate.name);
  }
}

void WaitWalker::Consider(const base::Thread& thread, const Rest& rest, ObjectUses* uses,
                          stack::StackCapturer* capturer, ConsideredThread* considered) {
  stack::Stack& stack = stacks_[kSearchStack];
  stack.Clear();
  live_values_.Clear();
  stack::BlockedThread blocked;
  const stack::ThreadActivity activity =
      stack::ReadThreadActivity(thread, &capturer->thread_files(), &blocked);
  const bool is_blocked = activity == stack::ThreadActivity::kBlocked;
  // One that is hidden would have to be woken up by a signal.
  if (!capturer->CaptureAsleep(thread.tid, &stack) && activity == stack::ThreadActivity::kRunning)
    capturer->Capture(thread.tid, &stack);
  const bool is_in_lock_call = is_blocked && stack::LockOwners::IsInLockCall(blocked);
  const AwaitedObject& object = uses->object();
  considered->is_asleep = is_blocked && !blocked.HasTimeLimit();
  const auto held = capturer->code().Hold();
  const stack::ModuleMap& modules = capturer->modules();
  SetFunctions(stack, modules, considered);
  if (is_in_lock_call) {
    considered->waits_for_future = IsForFuture(blocked);
    // At a condition there are two words to wait at, one behind the other.
    const uint64_t futex = blocked.arguments[0];
    considered->waits_for_object = object.Holds(futex) || object.Holds(futex - sizeof(uint32_t));
    const auto lock = owners_.Find(blocked, stack, modules);
    if (lock && lock->waits_for == WaitsFor::kOwner) considered->lock_owner = lock->owner_tid;
    considered->waits_for_signal = !lock || lock->waits_for != WaitsFor::kOwner;
  }
  if (considered->waits_for_object) return;
  if (considered->lock_owner == rest.thread.tid) considered->Add(Evidence::kNeedsLock);
  if (is_blocked && IsAtEnd(object, blocked)) considered->Add(Evidence::kAtOtherEnd);
  if (is_blocked && IsForFuture(rest.blocked) &&
      CountOnStack(thread.process, blocked, object.futex - kFutexInState) >= kHitsOfTask)
    considered->Add(Evidence::kRunsTask);
  // A lock's guard lies on the stack; a signal has none.
  const bool is_lock = object.futex != 0 && object.before_bytes == 0;
  if (is_lock && is_blocked && CountOnStack(thread.process, blocked, object.futex) != 0)
    considered->Add(Evidence::kGuard);
  const ObjectUses::Found found = uses->Of(thread, live_values_, modules);
  considered->distance = found.distance;
  switch (found.use) {
    case ObjectUse::kValue:
      considered->Add(Evidence::kUsesObject);
      break;
    case ObjectUse::kCode:
      considered->Add(Evidence::kCodeRefers);
      break;
    case ObjectUse::kCalledCode:
      considered->Add(Evidence::kCodeCalls);
      break;
    case ObjectUse::kDescriptor:
      considered->Add(Evidence::kDescriptor);
      break;
    case ObjectUse::kNear:
      considered->Add(Evidence::kNearObject);
      break;
    case ObjectUse::kNone:
      break;
  }
}

}  // namespace lagwatch::watchdog
