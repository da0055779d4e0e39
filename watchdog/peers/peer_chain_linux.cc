// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "base/system/seccomp.h"
#include "stack/threads/thread_counters.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/peers/peer_chain.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

// The watchdog waits so long for a running peer to come onto a processor.
constexpr int64_t kSampleNs = 10 * base::kNsPerMs;

bool IsOfSameUser(int32_t pid, int32_t watched_pid) {
  const auto user_of = [](int32_t process) -> std::optional<uid_t> {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d", process);
    struct stat folder {};
    return stat(path, &folder) == 0 ? std::optional(folder.st_uid) : std::nullopt;
  };
  const auto user = user_of(pid);
  return user && user == user_of(watched_pid);
}

int64_t SwitchesOf(const base::Thread& thread) {
  stack::SchedulerCounters counters;
  return stack::ReadSchedulerCounters(thread, &counters)
             ? counters.voluntary_switches + counters.involuntary_switches
             : -1;
}

// A thread in uninterruptible sleep may hold the lock of its process's memory map, which reading the map
// waits for; not one that waits for its writes to be on the disk, as lagwatch's own do in a peer that has
// just reported the same freeze.
bool MayHoldMemoryMap(const base::Thread& thread) {
  if (stack::ReadThreadStateLetter(thread) != 'D') return false;
  stack::BlockedThread blocked;
  if (stack::ReadThreadActivity(thread, &blocked) != stack::ThreadActivity::kBlocked) return true;
  return blocked.syscall_number != SYS_fsync && blocked.syscall_number != SYS_fdatasync;
}

// A thread that is only about to go on, as a peer's own watchdog often is at that moment, is waited for.
bool MayReadMemory(const base::Process& process) {
  constexpr int kLooks = 10;
  constexpr timespec kBetweenLooks{.tv_sec = 0, .tv_nsec = 1 * base::kNsPerMs};
  for (int look = 0; look < kLooks; ++look) {
    if (look != 0) nanosleep(&kBetweenLooks, nullptr);
    bool is_any_stuck = false;
    base::ForEachThread(process, [&](int tid) {
      is_any_stuck = MayHoldMemoryMap({process, tid});
      return !is_any_stuck;
    });
    if (!is_any_stuck) return true;
  }
  return false;
}

}  // namespace

PeerChain::PeerChain() : stacks_(base::MapOwnBlock<stack::Stack>(kMaxWaits + 1)) {
  auto unwinder = stack::CreateTableUnwinder(&tables_);
  if (unwinder == nullptr) return;
  auto capturer = stack::StackCapturer::CreateOutside(base::Process::Own(), {}, std::move(unwinder));
  if (capturer.ok()) capturer_ = std::move(capturer).value();
}

bool PeerChain::Follow(int32_t tid, const WaitChain& inner, stack::StackCapturer* capturer, bool hides_peers,
                       int64_t since_ns) {
  hides_peers_ = hides_peers;
  since_ns_ = since_ns;
  bus_call_ = {};
  count_ = 0;
  outcome_ = WaitOutcome::kNone;
  if (!ok() || base::IsConfined() || inner.outcome() == WaitOutcome::kDeadlock) return false;
  watched_ = capturer->process();
  if (base::HasForeignProcIds() && watched_.is_own()) return false;  // calls use other ids than /proc
  refreshed_ = {};
  deadline_ns_ = SearchClockNs() + budget_ns_;
  owners_ = &inner.owners();
  base::Thread at = Begin(tid, inner);
  const size_t inner_count = count_;
  size_t cycle_begin = kMaxWaits;
  base::Thread next;
  while (count_ < kMaxWaits && FollowFrom(at, capturer, &next) == Step::kFollowed) {
    at = next;
    const size_t known = IndexOf(at);
    if (known == count_) continue;
    cycle_begin = known;
    break;
  }
  const size_t followed = count_;
  for (count_ = inner_count; count_ < followed && IsAtRest(rests_[count_]);) ++count_;
  if (count_ == inner_count) return false;
  Conclude(count_ == followed ? cycle_begin : kMaxWaits, inner.outcome());
  return true;
}

base::Thread PeerChain::Begin(int32_t tid, const WaitChain& inner) {
  stack_count_ = 0;
  for (const Wait& wait : inner.waits()) {
    const base::Thread thread{watched_, static_cast<int32_t>(wait.tid)};
    // A lock that another process shares has no owner within this one.
    if (wait.lock.waits_for != stack::WaitsFor::kOwner) return thread;
    rests_[count_] = {.thread = thread, .blocked = {}};
    waits_[count_++] = wait;
    tid = wait.lock.owner_tid;
  }
  return {watched_, tid};
}

PeerChain::Step PeerChain::FollowFrom(const base::Thread& from, stack::StackCapturer* capturer,
                                      base::Thread* next) {
  Rest rest{.thread = from, .blocked = {}};
  Wait wait;
  PeerThread peer;
  rest.switches = SwitchesOf(from);
  if (stack::ReadThreadActivity(from, &rest.blocked) != stack::ThreadActivity::kBlocked) return Step::kEnded;
  // The one before has captured it as its owner.
  wait.frames = count_ == 0 ? CaptureStack(from, capturer) : waits_[count_ - 1].owner_frames;
  wait.modules = count_ == 0 ? nullptr : waits_[count_ - 1].owner_modules;
  PeerTarget target;
  if (!IsWatched(from) && FindLockWithin(from, rest.blocked, wait.frames, &wait)) {
    peer = {.thread = {from.process, wait.lock.owner_tid}, .is_known = true};
  } else {
    const bool is_bus_call =
        IsWatched(from) && wait.frames != nullptr &&
        FindBusTarget(from, rest.blocked, *wait.frames, capturer->modules(), since_ns_, &target, &bus_call_);
    if (!is_bus_call && !FindPeerTarget(from, rest.blocked, deadline_ns_, &target)) return Step::kEnded;
    wait.lock = {.address = target.number,
                 .kind = target.kind,
                 .waits_for = stack::WaitsFor::kOwner,
                 .has_timeout = target.has_timeout};
    if (!FindPeerThread(target, from.process, watched_, deadline_ns_, &peer)) return Step::kEnded;
  }
  *next = peer.thread;
  if (!peer.is_known) {
    // Any of a process's threads may answer; it is one of those that wait already, if none is known to.
    const std::span<const Rest> rests(rests_.data(), count_);
    const auto seen =
        std::ranges::find_if(rests, [&](const Rest& one) { return one.thread.process == next->process; });
    if (seen != rests.end()) {
      next->tid = seen->thread.tid;
    } else if (next->process == from.process) {
      next->tid = from.tid;
    }
    rest.is_owner_certain = !HasOtherActiveThread(*next);
  }
  wait.tid = static_cast<uint32_t>(from.tid);
  wait.pid = IsWatched(from) ? 0 : static_cast<uint32_t>(from.process.pid());
  wait.lock.owner_tid = next->tid;
  DescribeOwner(*next, capturer, &wait);
  const bool is_stopped = wait.owner_state == 'T' || wait.owner_state == 't';
  wait.is_owner_idle = peer.is_idle && !is_stopped;
  rests_[count_] = rest;
  waits_[count_++] = wait;
  return peer.is_idle || is_stopped ? Step::kEnded : Step::kFollowed;
}

bool PeerChain::FindLockWithin(const base::Thread& from, const stack::BlockedThread& blocked,
                               const stack::Stack* stack, Wait* wait) {
  if (stack == nullptr || from.process != refreshed_ || !stack::LockOwners::IsInLockCall(blocked))
    return false;
  const auto held = capturer_->code().Hold();
  const auto lock = owners_->Find(blocked, *stack, capturer_->modules());
  if (!lock || lock->waits_for != stack::WaitsFor::kOwner) return false;
  wait->lock = *lock;
  return true;
}

void PeerChain::DescribeOwner(const base::Thread& owner, stack::StackCapturer* capturer, Wait* wait) {
  const bool is_watched = IsWatched(owner);
  const bool may_name = is_watched || (!hides_peers_ && IsOfSameUser(owner.process.pid(), watched_.pid()));
  char(&name)[kMaxNameBytes] = owner_names_[count_];
  char(&process)[kMaxNameBytes] = process_names_[count_];
  name[0] = process[0] = '\0';
  wait->owner_state = stack::ReadThreadStateLetter(owner);
  if (may_name) stack::ReadThreadName(owner, name, sizeof name);
  // Fails for a thread that has just ended, which is like one that is not nice.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(owner.tid));
  wait->owner_nice = may_name && !is_watched && errno == 0 ? nice : 0;
  if (may_name && !is_watched) ReadProcessName(owner.process.pid(), process, sizeof process);
  wait->owner_name = name;
  wait->owner_process = process;
  wait->owner_pid = is_watched ? 0 : static_cast<uint32_t>(owner.process.pid());
  const size_t known = IndexOf(owner);
  if (known < count_) {
    wait->owner_frames = waits_[known].frames;
    wait->owner_modules = waits_[known].modules;
  } else if (may_name) {
    wait->owner_frames = CaptureStack(owner, capturer);
    if (!is_watched && wait->owner_frames != nullptr) wait->owner_modules = &capturer_->modules();
  }
}

const stack::Stack* PeerChain::CaptureStack(const base::Thread& thread, stack::StackCapturer* capturer) {
  stack::Stack* stack = &stacks_[stack_count_];
  stack->Clear();
  if (IsWatched(thread)) {
    capturer->CaptureAsleep(thread.tid, stack);
  } else {
    if (SearchClockNs() >= deadline_ns_ || !MayReadMemory(thread.process)) return nullptr;
    if (thread.process != refreshed_) {
      capturer_->LookAt(thread.process);
      capturer_->RefreshModules();
    }
    refreshed_ = thread.process;
    if (!capturer_->CaptureAsleep(thread.tid, stack) && stack::ReadThreadStateLetter(thread) == 'R')
      capturer_->CaptureRunning(thread.tid, stack, kSampleNs);
  }
  if (stack->frame_count == 0) return nullptr;
  ++stack_count_;
  return stack;
}

bool PeerChain::IsAtRest(const Rest& rest) const {
  stack::BlockedThread now;
  return stack::ReadThreadActivity(rest.thread, &now) == stack::ThreadActivity::kBlocked &&
         now == rest.blocked && SwitchesOf(rest.thread) == rest.switches;
}

size_t PeerChain::IndexOf(const base::Thread& thread) const {
  const auto end = rests_.begin() + static_cast<std::ptrdiff_t>(count_);
  return static_cast<size_t>(
      std::find_if(rests_.begin(), end, [&](const Rest& rest) { return rest.thread == thread; }) -
      rests_.begin());
}

void PeerChain::Conclude(size_t cycle_begin, WaitOutcome inner) {
  outcome_ = inner;
  bool is_for_ever = cycle_begin < count_;
  for (size_t i = cycle_begin; i < count_; ++i) {
    is_for_ever =
        is_for_ever && !waits_[i].lock.has_timeout && !waits_[i].is_owner_idle && rests_[i].is_owner_certain;
  }
  if (is_for_ever) outcome_ = WaitOutcome::kDeadlock;
}

}  // namespace lagwatch::watchdog
