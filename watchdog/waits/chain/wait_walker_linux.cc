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
#include <span>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "base/system/seccomp.h"
#include "stack/threads/thread_counters.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

// The watchdog waits so long for a running peer to come onto a processor.
constexpr int64_t kSampleNs = 10 * base::kNsPerMs;
// After so much processor time the search lets other threads have the processor.
constexpr int64_t kWithoutPauseNs = 15 * base::kNsPerMs;

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

// By the process's first thread, whose file stays as long as the process; 0 if it is gone.
int64_t AgeNs(const base::Process& process) {
  stack::ThreadStat stat;
  if (!stack::ReadThreadStat({process, process.pid()}, &stat) || stat.start_boot_ns == 0) return 0;
  return std::max<int64_t>(base::SystemClock().BootNs() - stat.start_boot_ns, 0);
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

bool WaitWalker::KnowsModules(const base::Process& process, const Walked& walked) const {
  return process == walked.watched || process == peers_->looked_at;
}

stack::StackCapturer& WaitWalker::CapturerOf(const base::Process& process, const Walked& walked) const {
  return process == walked.watched ? *walked.capturer : *peers_->capturer;
}

void WaitWalker::PauseIfDue(Walked* walked) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2 * base::kNsPerMs};
  if (SearchClockNs() < walked->pause_ns) return;
  nanosleep(&kPause, nullptr);
  walked->pause_ns = SearchClockNs() + kWithoutPauseNs;
}

std::unique_ptr<WaitWalker::Peers> WaitWalker::MakePeers() {
  auto peers = std::make_unique<Peers>();
  auto unwinder = stack::CreateTableUnwinder(&peers->tables);
  if (unwinder == nullptr) return nullptr;
  auto capturer = stack::StackCapturer::CreateOutside(base::Process::Own(), {}, std::move(unwinder));
  if (!capturer.ok()) return nullptr;
  peers->capturer = std::move(capturer).value();
  peers->capturer->SetScripts(&peers->scripts);
  return peers;
}

bool WaitWalker::FollowPeers(int32_t tid, stack::StackCapturer* capturer, bool hides_peers,
                             int64_t since_ns) {
  bus_call_ = {};
  if (peers_ == nullptr || base::IsConfined() || outcome_ == WaitOutcome::kDeadlock) return false;
  const base::Thread first = capturer->thread(tid);
  // Calls use other ids than /proc.
  if (base::HasForeignProcIds() && first.process.is_own()) return false;
  peers_->looked_at = {};
  const int64_t begin_ns = SearchClockNs();
  Walked walked{.capturer = capturer,
                .watched = first.process,
                .hides_peers = hides_peers,
                .since_ns = since_ns,
                .deadline_ns = begin_ns + peer_budget_ns_,
                .pause_ns = begin_ns + kWithoutPauseNs};
  const size_t inner_count = count_;
  const base::Thread at = RewindToPeer(first);
  const size_t kept_count = count_;
  const Wait rewound = waits_[kept_count % kMaxWaits];
  Step last;
  const size_t cycle_begin = Walk(at, &last, [&](const base::Thread& from, base::Thread* next) {
    PauseIfDue(&walked);
    return AddPeer(from, walked, next);
  });
  const size_t followed = count_;
  const auto is_at_rest = [](const Rest& rest) {
    stack::BlockedThread now;
    return stack::ReadThreadActivity(rest.thread, &now) == stack::ThreadActivity::kBlocked &&
           now == rest.blocked && ReadSwitches(rest.thread) == rest.switches;
  };
  for (count_ = kept_count; count_ < followed && is_at_rest(rests_[count_]);) ++count_;
  if (count_ == kept_count) {
    if (inner_count != kept_count) waits_[kept_count] = rewound;
    count_ = inner_count;
    return false;
  }
  if (count_ == followed && IsForEver(cycle_begin)) outcome_ = WaitOutcome::kDeadlock;
  return true;
}

base::Thread WaitWalker::RewindToPeer(const base::Thread& first) {
  if (count_ == 0) return first;
  const stack::LockWait& last = waits_[count_ - 1].lock;
  if (last.waits_for == stack::WaitsFor::kOwner) return {first.process, last.owner_tid};
  // A lock that another process shares has no owner within this one.
  return rests_[--count_].thread;
}

WaitWalker::Step WaitWalker::AddPeer(const base::Thread& from, const Walked& walked, base::Thread* next) {
  if (count_ == kMaxWaits) return Step::kEnded;
  Rest rest{.thread = from, .blocked = {}, .switches = ReadSwitches(from), .script_lock = {}};
  if (stack::ReadThreadActivity(from, &rest.blocked) != stack::ThreadActivity::kBlocked) return Step::kEnded;
  Wait wait;
  // The one before has captured it as its owner.
  wait.frames = count_ == 0 ? CaptureStack(from, walked) : waits_[count_ - 1].owner_frames;
  wait.modules = count_ == 0 ? nullptr : waits_[count_ - 1].owner_modules;
  PeerThread peer;
  if (!FindPeer(from, rest, walked, &wait, &peer)) return Step::kEnded;
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
  }
  wait.tid = static_cast<uint32_t>(from.tid);
  wait.pid = walked.IsWatched(from) ? 0 : static_cast<uint32_t>(from.process.pid());
  wait.lock.owner_tid = next->tid;
  DescribeOwner(*next, walked, &wait);
  rest.is_owner_certain = peer.is_known || !HasOtherActiveThread(*next, [&](const base::Thread& other) {
                            return IsIdleWorker(other, walked);
                          });
  const bool is_stopped = wait.owner_state == 'T' || wait.owner_state == 't';
  const bool is_idle =
      peer.is_idle && (wait.lock.kind != policies::LockKind::kBusCall || IsIdleAtBus(*next, walked, wait));
  wait.is_owner_idle = is_idle && !is_stopped;
  rests_[count_] = rest;
  waits_[count_++] = wait;
  return is_idle || is_stopped ? Step::kEnded : Step::kAdded;
}

bool WaitWalker::FindPeer(const base::Thread& from, const Rest& rest, const Walked& walked, Wait* wait,
                          PeerThread* peer) {
  const bool is_watched = walked.IsWatched(from);
  if (!is_watched && FindLockWithin(rest, wait->frames, wait)) {
    *peer = {.thread = {from.process, wait->lock.owner_tid}, .is_known = true};
    return true;
  }
  PeerTarget target;
  stack::ScriptPeer script_peer;
  if (KnowsModules(from.process, walked)) {
    const stack::StackCapturer& capturer = CapturerOf(from.process, walked);
    if (capturer.FindScriptWait(from.tid) == policies::Doing::kSleep) return false;
    script_peer = capturer.FindScriptPeer(from.tid, rest.blocked);
  }
  if (!SetScriptPeer(from, script_peer, walked.deadline_ns, &target) &&
      !FindBusPeer(from, rest, walked, *wait, &target) &&
      !FindPeerTarget(from, rest.blocked, walked.deadline_ns, &target))
    return false;
  wait->lock = {.address = target.number,
                .kind = target.kind,
                .waits_for = stack::WaitsFor::kOwner,
                .has_timeout = target.has_timeout};
  return FindPeerThread(target, from.process, walked.watched, walked.deadline_ns, peer);
}

// Of a thread that sleeps for a limited time, as those of GLib's pools do between two tasks: it has nothing
// to do if no function of the program's is on its stack.
bool WaitWalker::IsIdleWorker(const base::Thread& thread, const Walked& walked) {
  constexpr std::string_view kLibraries[] = {"libc.so", "libc-", "libpthread", "libglib-2.0.so", "[vdso]"};
  if (!KnowsModules(thread.process, walked) || SearchClockNs() >= walked.deadline_ns) return false;
  stack::StackCapturer& capturer = CapturerOf(thread.process, walked);
  stack::Stack& stack = stacks_[kSearchStack];
  stack.Clear();
  capturer.CaptureAsleep(thread.tid, &stack);
  return stack.completeness == stack::Completeness::kComplete &&
         std::ranges::all_of(stack.view(), [&](const stack::Frame& frame) {
           if (frame.module == stack::kNoModule) return false;
           const std::string_view name = capturer.modules().module(frame.module).file_name();
           return std::ranges::any_of(kLibraries,
                                      [&](std::string_view library) { return name.starts_with(library); });
         });
}

bool WaitWalker::FindLockWithin(const Rest& rest, const stack::Stack* stack, Wait* wait) {
  if (stack == nullptr || rest.thread.process != peers_->looked_at) return false;
  const auto script_lock = peers_->capturer->FindScriptLock(rest.thread.tid, rest.blocked);
  if (script_lock && script_lock->kind == stack::LockKind::kMutex &&
      script_lock->owner_tid != rest.thread.tid) {
    wait->lock = {.address = script_lock->address,
                  .kind = script_lock->kind,
                  .waits_for = stack::WaitsFor::kOwner,
                  .has_timeout = script_lock->may_time_out && rest.blocked.HasTimeLimit(),
                  .owner_tid = script_lock->owner_tid};
    return true;
  }
  if (!stack::LockOwners::IsInLockCall(rest.blocked)) return false;
  auto lock = [&] {
    const auto held = peers_->capturer->code().Hold();
    return owners_.Find(rest.blocked, *stack, peers_->capturer->modules());
  }();
  if (!lock || lock->waits_for != stack::WaitsFor::kOwner) {
    stack::LockKind kind;
    const int32_t owner =
        FindOwnerByStacks(rest, *stack, lock, peers_->capturer.get(), /*may_interrupt=*/false, &kind);
    if (owner == 0) return false;
    if (!lock) lock = {.address = rest.blocked.arguments[0], .has_timeout = rest.blocked.HasTimeLimit()};
    lock->kind = kind;
    lock->waits_for = stack::WaitsFor::kOwner;
    lock->owner_tid = owner;
  }
  wait->lock = *lock;
  return true;
}

void WaitWalker::DescribeOwner(const base::Thread& owner, const Walked& walked, Wait* wait) {
  const int32_t pid = owner.process.pid();
  const bool is_watched = walked.IsWatched(owner);
  const bool may_name = is_watched || (!walked.hides_peers && IsOfSameUser(pid, walked.watched.pid()));
  char(&name)[kMaxNameBytes] = owner_names_[count_];
  char(&process)[kMaxNameBytes] = process_names_[count_];
  name[0] = process[0] = '\0';
  wait->owner_state = stack::ReadThreadStateLetter(owner);
  if (may_name) stack::ReadThreadName(owner, name, sizeof name);
  // Fails for a thread that has just ended, which is like one that is not nice.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(owner.tid));
  wait->owner_nice = may_name && !is_watched && errno == 0 ? nice : 0;
  if (may_name && !is_watched) {
    ReadProcessName(pid, process, sizeof process);
    wait->owner_age_ns = AgeNs(owner.process);
  }
  wait->owner_name = name;
  wait->owner_process = process;
  wait->owner_pid = is_watched ? 0 : static_cast<uint32_t>(pid);
  const size_t known = IndexOf(owner);
  if (known < count_) {
    wait->owner_frames = waits_[known].frames;
    wait->owner_modules = waits_[known].modules;
  } else if (may_name) {
    wait->owner_frames = CaptureStack(owner, walked);
    if (!is_watched && wait->owner_frames != nullptr) wait->owner_modules = &peers_->capturer->modules();
  }
}

const stack::Stack* WaitWalker::CaptureStack(const base::Thread& thread, const Walked& walked) {
  if (stack_count_ == kStacks) return nullptr;
  stack::Stack* stack = &stacks_[stack_count_];
  stack->Clear();
  if (walked.IsWatched(thread)) {
    walked.capturer->CaptureAsleep(thread.tid, stack);
  } else {
    if (SearchClockNs() >= walked.deadline_ns || !MayReadMemory(thread.process)) return nullptr;
    stack::StackCapturer& capturer = *peers_->capturer;
    if (thread.process != peers_->looked_at) {
      capturer.LookAt(thread.process);
      capturer.RefreshModules();
    }
    peers_->looked_at = thread.process;
    if (!capturer.CaptureAsleep(thread.tid, stack) && stack::ReadThreadStateLetter(thread) == 'R')
      capturer.CaptureRunning(thread.tid, stack, kSampleNs);
  }
  if (stack->frame_count == 0) return nullptr;
  ++stack_count_;
  return stack;
}

}  // namespace lagwatch::watchdog
