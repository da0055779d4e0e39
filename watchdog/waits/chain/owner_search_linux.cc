// SPDX-License-Identifier: Apache-2.0
// Owners that no lock names: the threads' stacks show them. docs/design/locks.md.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/process/proc_file.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kStacksBudgetNs = 20'000'000;  // of the watchdog's processor time
constexpr int kCaptures = 3;                     // at a thread that wakes up again and again

// The value that a future waits with, and its place in libstdc++'s shared state (<future>): behind the table
// of functions, two counters and the result's address.
constexpr uint32_t kFutureAwaited = 0x80000000;
constexpr uint64_t kFutexInState = 16;
// The state's address is on the stack of a thread that runs a std::packaged_task at least so often (4 with
// -O1 to -O3, 7 with -O0), and up to 3 times on that of one that has the future and the task.
constexpr size_t kHitsOfTask = 4;

// Number of times that the innermost 64 KiB of the stack of a thread that sleeps at `blocked` hold `value`.
size_t CountOnStack(const base::Process& process, const stack::BlockedThread& blocked, uint64_t value) {
  constexpr size_t kMostBytes = 64 << 10;
  std::array<uint64_t, 512> words;
  size_t count = 0;
  for (size_t at = 0; at < kMostBytes; at += sizeof words) {
    const size_t size = process.Read(blocked.stack_pointer + at, words.data(), sizeof words);
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(size / sizeof value);
    count += static_cast<size_t>(std::count(words.begin(), end, value));
    if (size < sizeof words) break;
  }
  return count;
}

// Whether a frame of `outer` belongs to the function of one of `frames`.
bool HasFunction(std::span<const stack::Frame> outer, std::span<const stack::Frame> frames, bool is_further) {
  return std::ranges::any_of(outer, [&](const stack::Frame& frame) {
    return std::ranges::any_of(frames, [&](const stack::Frame& own) {
      return frame.module == own.module && frame.function_offset == own.function_offset &&
             own.function_offset != 0 && (!is_further || frame.offset > own.offset);
    });
  });
}

}  // namespace

int32_t WaitWalker::FindOwnerByStacks(const Rest& rest, const stack::Stack& stack,
                                      const stack::LockWait& lock, stack::StackCapturer* capturer,
                                      bool may_interrupt) {
  const base::Thread& waiting = rest.thread;
  stack::LockOwners::OnceFrames once;
  {
    const auto held = capturer->code().Hold();
    if (lock.kind == stack::LockKind::kHeap)
      return owners_.IsWithinOwnHeapCall(stack, capturer->modules()) ? waiting.tid : 0;
    if (lock.kind != stack::LockKind::kOnce) return 0;
    once = owners_.FindOnceFrames(rest.blocked, stack, capturer->modules());
  }
  const auto is_in_initializer = [&](const stack::Stack& one, uint32_t inner_count) {
    const auto outer = one.view().subspan(std::min(inner_count, one.frame_count));
    return HasFunction(outer, stack.view().subspan(once.begin, once.end - once.begin), once.is_in_order);
  };
  const int64_t deadline_ns = SearchClockNs() + kStacksBudgetNs;
  int32_t only = 0;  // of `count` threads within an initializer
  int count = 0;
  int32_t proven = 0;  // of `proven_count` threads that have this one's address, too
  int proven_count = 0;
  bool is_all = true;
  base::ForEachThread(waiting.process, [&](int tid) {
    const base::Thread thread{waiting.process, tid};
    const bool is_caller = tid == gettid() && waiting.process.is_own();
    if (thread == waiting || is_caller || IsLagwatchsThread(thread)) return true;
    stack::Stack& other = stacks_[kSearchStack];
    other.Clear();
    for (int look = 0; look < kCaptures && other.frame_count == 0; ++look) {
      if (!capturer->CaptureAsleep(tid, &other) && may_interrupt) capturer->Capture(tid, &other);
    }
    is_all = other.completeness == stack::Completeness::kComplete && SearchClockNs() < deadline_ns && is_all;
    if (!is_in_initializer(other, 1)) return SearchClockNs() < deadline_ns;
    ++count;
    only = tid;
    stack::BlockedThread blocked;
    if (stack::ReadThreadActivity(thread, &blocked) == stack::ThreadActivity::kBlocked &&
        CountOnStack(thread.process, blocked, lock.address) != 0) {
      ++proven_count;
      proven = tid;
    }
    return SearchClockNs() < deadline_ns;
  });
  if (proven_count != 0) return proven_count == 1 ? proven : 0;
  if (!is_all || count > 1) return 0;
  if (count == 1) return only;
  return is_in_initializer(stack, once.end) ? waiting.tid : 0;
}

// Threads that wait for a lock of the waiting thread's: one of them is likely to be about to give the signal.
// Else the thread that runs the task of the future that is waited for.
void WaitWalker::FindCandidate(stack::StackCapturer* capturer) {
  const Rest& rest = rests_[count_ - 1];
  const base::Thread& waiting = rest.thread;
  const int64_t deadline_ns = SearchClockNs() + kStacksBudgetNs;
  const bool is_future = static_cast<uint32_t>(rest.blocked.arguments[2]) == kFutureAwaited;
  Candidate blocked_ones{.reason = "waits for a lock that the waiting thread holds"};
  Candidate workers{.reason = "runs the task of the future"};
  const auto add = [](int tid, Candidate* candidate) {
    if (candidate->count++ == 0) candidate->tid = tid;
  };
  base::ForEachThread(waiting.process, [&](int tid) {
    const base::Thread thread{waiting.process, tid};
    stack::BlockedThread blocked;
    if (thread == waiting || IsLagwatchsThread(thread) ||
        stack::ReadThreadActivity(thread, &blocked) != stack::ThreadActivity::kBlocked)
      return SearchClockNs() < deadline_ns;
    const uint64_t futex = rest.blocked.arguments[0];
    const bool is_for_the_same = blocked.arguments[0] == futex && stack::LockOwners::IsInLockCall(blocked);
    if (is_future && !is_for_the_same &&
        CountOnStack(thread.process, blocked, futex - kFutexInState) >= kHitsOfTask)
      add(tid, &workers);
    stack::Stack& stack = stacks_[kSearchStack];
    stack.Clear();
    if (stack::LockOwners::IsInLockCall(blocked) && capturer->CaptureAsleep(tid, &stack)) {
      const auto held = capturer->code().Hold();
      const auto lock = owners_.Find(blocked, stack, capturer->modules());
      if (lock && lock->waits_for == stack::WaitsFor::kOwner && lock->owner_tid == waiting.tid)
        add(tid, &blocked_ones);
    }
    return SearchClockNs() < deadline_ns;
  });
  candidate_ = blocked_ones.count != 0 ? blocked_ones : workers;
  if (candidate_.tid != 0)
    stack::ReadThreadName({waiting.process, candidate_.tid}, candidate_.name, sizeof candidate_.name);
}

}  // namespace lagwatch::watchdog
