// SPDX-License-Identifier: Apache-2.0
// Owners that no lock names: the threads' stacks show them. docs/design/locks.md.
#include <unistd.h>

#include <algorithm>

#include "base/process/proc_file.h"
#include "watchdog/waits/candidates/object_use.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kStacksBudgetNs = 20'000'000;  // of the watchdog's processor time
constexpr int kCaptures = 3;                     // at a thread that wakes up again and again

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

}  // namespace lagwatch::watchdog
