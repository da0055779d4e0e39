// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/process/proc_file.h"
#include "base/process/watched_process.h"
#include "base/system/proc_ids.h"
#include "base/system/seccomp.h"
#include "stack/threads/thread_counters.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/evidence/process_search.h"
#include "watchdog/peers/peer_chain.h"

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

int64_t SwitchesOf(int32_t tid) {
  stack::SchedulerCounters counters;
  return stack::ReadSchedulerCounters(tid, &counters)
             ? counters.voluntary_switches + counters.involuntary_switches
             : -1;
}

// A thread in uninterruptible sleep may hold the lock of its process's memory map, which reading the map
// waits for; not one that waits for its writes to be on the disk, as lagwatch's own do in a peer that has
// just reported the same freeze.
bool MayHoldMemoryMap(int32_t tid) {
  if (stack::ReadThreadStateLetter(tid) != 'D') return false;
  stack::BlockedThread blocked;
  if (stack::ReadThreadActivity(tid, &blocked) != stack::ThreadActivity::kBlocked) return true;
  return blocked.syscall_number != SYS_fsync && blocked.syscall_number != SYS_fdatasync;
}

// A thread that is only about to go on, as a peer's own watchdog often is at that moment, is waited for.
bool MayReadMemory() {
  constexpr int kLooks = 10;
  constexpr timespec kBetweenLooks{.tv_sec = 0, .tv_nsec = 1 * base::kNsPerMs};
  for (int look = 0; look < kLooks; ++look) {
    if (look != 0) nanosleep(&kBetweenLooks, nullptr);
    bool is_any_stuck = false;
    base::ForEachThread([&](int tid) {
      is_any_stuck = MayHoldMemoryMap(tid);
      return !is_any_stuck;
    });
    if (!is_any_stuck) return true;
  }
  return false;
}

// Another process is the watched one, unless it is the watched one anyway.
class ScopedProcess {
 public:
  ScopedProcess(int32_t pid, int32_t watched_pid) {
    if (pid != watched_pid) scope_.emplace(pid);
  }

 private:
  std::optional<base::ScopedPeerProcess> scope_;
};

}  // namespace

PeerChain::PeerChain() : stacks_(base::MapOwnBlock<stack::Stack>(kMaxWaits + 1)) {
  auto unwinder = stack::CreateTableUnwinder(&tables_);
  if (unwinder == nullptr) return;
  auto capturer = stack::StackCapturer::CreateOutside({}, std::move(unwinder));
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
  if (base::HasForeignProcIds() && !base::IsWatchedFromOutside())
    return false;  // calls use other ids than /proc
  watched_pid_ = base::WatchedPid();
  refreshed_pid_ = 0;
  deadline_ns_ = SearchClockNs() + budget_ns_;
  owners_ = &inner.owners();
  Place at = Begin(tid, inner);
  const size_t inner_count = count_;
  size_t cycle_begin = kMaxWaits;
  Place next;
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

PeerChain::Place PeerChain::Begin(int32_t tid, const WaitChain& inner) {
  stack_count_ = 0;
  for (const Wait& wait : inner.waits()) {
    const Place place{watched_pid_, static_cast<int32_t>(wait.tid)};
    // A lock that another process shares has no owner within this one.
    if (wait.lock.waits_for != stack::WaitsFor::kOwner) return place;
    rests_[count_] = {.place = place, .blocked = {}};
    waits_[count_++] = wait;
    tid = wait.lock.owner_tid;
  }
  return {watched_pid_, tid};
}

PeerChain::Step PeerChain::FollowFrom(const Place& from, stack::StackCapturer* capturer, Place* next) {
  Rest rest{.place = from, .blocked = {}};
  Wait wait;
  PeerThread peer;
  {
    const ScopedProcess scope(from.pid, watched_pid_);
    rest.switches = SwitchesOf(from.tid);
    if (stack::ReadThreadActivity(from.tid, &rest.blocked) != stack::ThreadActivity::kBlocked)
      return Step::kEnded;
    // The one before has captured it as its owner.
    wait.frames = count_ == 0 ? CaptureStack(from, capturer) : waits_[count_ - 1].owner_frames;
    wait.modules = count_ == 0 ? nullptr : waits_[count_ - 1].owner_modules;
    PeerTarget target;
    if (!IsWatched(from) && FindLockWithin(from, rest.blocked, wait.frames, &wait)) {
      peer = {.pid = from.pid, .tid = wait.lock.owner_tid, .is_known = true};
    } else {
      const bool is_bus_call = IsWatched(from) && wait.frames != nullptr &&
                               FindBusTarget(from.tid, rest.blocked, *wait.frames, capturer->modules(),
                                             since_ns_, &target, &bus_call_);
      if (!is_bus_call && !FindPeerTarget(from.tid, rest.blocked, deadline_ns_, &target)) return Step::kEnded;
      wait.lock = {.address = target.number,
                   .kind = target.kind,
                   .waits_for = stack::WaitsFor::kOwner,
                   .has_timeout = target.has_timeout};
      if (!FindPeerThread(target, from.pid, watched_pid_, deadline_ns_, &peer)) return Step::kEnded;
    }
  }
  const auto seen = std::find_if(rests_.begin(), rests_.begin() + static_cast<std::ptrdiff_t>(count_),
                                 [&](const Rest& one) { return one.place.pid == peer.pid; });
  const bool is_seen = seen != rests_.begin() + static_cast<std::ptrdiff_t>(count_);
  // Any of a process's threads may answer; it is one of those that wait already, if none is known to.
  if (!peer.is_known && (is_seen || peer.pid == from.pid)) peer.tid = is_seen ? seen->place.tid : from.tid;
  *next = {peer.pid, peer.tid};
  if (!peer.is_known) {
    const ScopedProcess scope(peer.pid, watched_pid_);
    rest.is_owner_certain = !HasOtherActiveThread(peer.tid);
  }
  wait.tid = static_cast<uint32_t>(from.tid);
  wait.pid = IsWatched(from) ? 0 : static_cast<uint32_t>(from.pid);
  wait.lock.owner_tid = peer.tid;
  DescribeOwner(*next, capturer, &wait);
  const bool is_stopped = wait.owner_state == 'T' || wait.owner_state == 't';
  wait.is_owner_idle = peer.is_idle && !is_stopped;
  rests_[count_] = rest;
  waits_[count_++] = wait;
  return peer.is_idle || is_stopped ? Step::kEnded : Step::kFollowed;
}

bool PeerChain::FindLockWithin(const Place& from, const stack::BlockedThread& blocked,
                               const stack::Stack* stack, Wait* wait) {
  if (stack == nullptr || from.pid != refreshed_pid_ || !stack::LockOwners::IsInLockCall(blocked))
    return false;
  const auto held = capturer_->code().Hold();
  const auto lock = owners_->Find(blocked, *stack, capturer_->modules());
  if (!lock || lock->waits_for != stack::WaitsFor::kOwner) return false;
  wait->lock = *lock;
  return true;
}

void PeerChain::DescribeOwner(const Place& owner, stack::StackCapturer* capturer, Wait* wait) {
  const bool is_watched = IsWatched(owner);
  const bool may_name = is_watched || (!hides_peers_ && IsOfSameUser(owner.pid, watched_pid_));
  char(&name)[kMaxNameBytes] = owner_names_[count_];
  char(&process)[kMaxNameBytes] = process_names_[count_];
  name[0] = process[0] = '\0';
  {
    const ScopedProcess scope(owner.pid, watched_pid_);
    wait->owner_state = stack::ReadThreadStateLetter(owner.tid);
    if (may_name) stack::ReadThreadName(owner.tid, name, sizeof name);
  }
  if (may_name && !is_watched) ReadProcessName(owner.pid, process, sizeof process);
  wait->owner_name = name;
  wait->owner_process = process;
  wait->owner_pid = is_watched ? 0 : static_cast<uint32_t>(owner.pid);
  const size_t known = IndexOf(owner);
  if (known < count_) {
    wait->owner_frames = waits_[known].frames;
    wait->owner_modules = waits_[known].modules;
  } else if (may_name) {
    wait->owner_frames = CaptureStack(owner, capturer);
    if (!is_watched && wait->owner_frames != nullptr) wait->owner_modules = &capturer_->modules();
  }
}

const stack::Stack* PeerChain::CaptureStack(const Place& place, stack::StackCapturer* capturer) {
  stack::Stack* stack = &stacks_[stack_count_];
  stack->Clear();
  if (IsWatched(place)) {
    capturer->CaptureAsleep(place.tid, stack);
  } else {
    const base::ScopedPeerProcess scope(place.pid);
    if (SearchClockNs() >= deadline_ns_ || !MayReadMemory()) return nullptr;
    if (place.pid != refreshed_pid_) capturer_->RefreshModules();
    refreshed_pid_ = place.pid;
    if (!capturer_->CaptureAsleep(place.tid, stack) && stack::ReadThreadStateLetter(place.tid) == 'R')
      capturer_->CaptureRunning(place.tid, stack, kSampleNs);
  }
  if (stack->frame_count == 0) return nullptr;
  ++stack_count_;
  return stack;
}

bool PeerChain::IsAtRest(const Rest& rest) const {
  const ScopedProcess scope(rest.place.pid, watched_pid_);
  stack::BlockedThread now;
  return stack::ReadThreadActivity(rest.place.tid, &now) == stack::ThreadActivity::kBlocked &&
         now == rest.blocked && SwitchesOf(rest.place.tid) == rest.switches;
}

size_t PeerChain::IndexOf(const Place& place) const {
  const auto end = rests_.begin() + static_cast<std::ptrdiff_t>(count_);
  return static_cast<size_t>(
      std::find_if(rests_.begin(), end, [&](const Rest& rest) { return rest.place == place; }) -
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
