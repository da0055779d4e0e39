// SPDX-License-Identifier: Apache-2.0
// Owners that no lock names: the threads' stacks show them. docs/design/locks.md.
#include <unistd.h>

#include <algorithm>
#include <array>

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

// Whether another thread waits for the same, at a condition's other word maybe.
bool WaitsThere(const stack::BlockedThread& blocked, uint64_t futex) {
  const uint64_t distance = blocked.arguments[0] - futex + sizeof(uint32_t);
  return stack::LockOwners::IsInLockCall(blocked) && distance <= 2 * sizeof(uint32_t);
}

// The threads that are within an initializer.
class Runners {
 public:
  void Add(int32_t tid, bool has_address) {
    ++count_;
    only_ = tid;
    if (!has_address) return;
    ++proven_count_;
    proven_ = tid;
  }
  void MissSome() { is_all_ = false; }
  // The one that runs the initializer; 0: not known. By its frames alone only if no other thread has such.
  int32_t Owner(bool needs_address) const {
    if (proven_count_ != 0) return proven_count_ == 1 ? proven_ : 0;
    return !needs_address && is_all_ && count_ == 1 ? only_ : 0;
  }
  bool IsNone() const { return is_all_ && count_ == 0; }

 private:
  int32_t only_ = 0;
  int count_ = 0;
  int32_t proven_ = 0;  // that has the address of the control, too
  int proven_count_ = 0;
  bool is_all_ = true;
};

}  // namespace

int32_t WaitWalker::FindOwnerByStacks(const Rest& rest, const stack::Stack& stack,
                                      const std::optional<stack::LockWait>& lock,
                                      stack::StackCapturer* capturer, bool may_interrupt,
                                      stack::LockKind* kind) {
  *kind = lock ? lock->kind : stack::LockKind::kUnknown;
  Initializers::Wait wait;
  std::optional<SignalStop> stop;
  {
    const auto held = capturer->code().Hold();
    if (*kind == stack::LockKind::kHeap)
      return owners_.IsWithinOwnHeapCall(stack, capturer->modules()) ? rest.thread.tid : 0;
    if (*kind == stack::LockKind::kOnce) {
      wait.frames = owners_.FindOnceFrames(rest.blocked, stack, capturer->modules());
    } else {
      if (lock && lock->waits_for != stack::WaitsFor::kUnknown && lock->waits_for != stack::WaitsFor::kSignal)
        return 0;
      stop = FindSignalStop(stack, capturer->modules());
      const auto found = initializers_.Find(rest.blocked, stack, capturer->modules());
      if (!stop && !found) return 0;
      if (found) wait = *found;
    }
  }
  if (stop) {
    *kind = stack::LockKind::kSafepoint;
    return FindStopper(rest, *stop, capturer, may_interrupt);
  }
  const int32_t owner = FindRunner(rest, stack, wait, capturer, may_interrupt);
  if (owner != 0) *kind = stack::LockKind::kOnce;
  return owner;
}

// The thread that has called into the collector, whose handler it is; else the only one that is not stopped,
// if others are.
int32_t WaitWalker::FindStopper(const Rest& rest, const SignalStop& stop, stack::StackCapturer* capturer,
                                bool may_interrupt) {
  std::array<int, 4> counts{};
  std::array<int32_t, 4> last{};
  const int64_t deadline_ns = SearchClockNs() + kStacksBudgetNs;
  bool is_all = true;
  base::ForEachThread(rest.thread.process, [&](int tid) {
    const base::Thread thread{rest.thread.process, tid};
    const bool is_caller = tid == gettid() && rest.thread.process.is_own();
    if (thread == rest.thread || is_caller || IsLagwatchsThread(thread)) return true;
    const stack::Stack& other = CaptureOther(tid, capturer, may_interrupt);
    is_all = is_all && other.completeness == stack::Completeness::kComplete;
    const auto held = capturer->code().Hold();
    const auto part = static_cast<size_t>(PartIn(stop, other, capturer->modules()));
    ++counts[part];
    last[part] = tid;
    is_all = is_all && SearchClockNs() < deadline_ns;
    return SearchClockNs() < deadline_ns;
  });
  const auto of = [&](StopPart part) { return static_cast<size_t>(part); };
  if (!is_all) return 0;
  if (counts[of(StopPart::kCollector)] == 1) return last[of(StopPart::kCollector)];
  const bool is_only_one = counts[of(StopPart::kCollector)] + counts[of(StopPart::kService)] == 0 &&
                           counts[of(StopPart::kNone)] == 1 && counts[of(StopPart::kStopped)] != 0;
  return is_only_one ? last[of(StopPart::kNone)] : 0;
}

const stack::Stack& WaitWalker::CaptureOther(int32_t tid, stack::StackCapturer* capturer,
                                             bool may_interrupt) {
  stack::Stack& other = stacks_[kSearchStack];
  other.Clear();
  for (int look = 0; look < kCaptures && other.frame_count == 0; ++look)
    if (!capturer->CaptureAsleep(tid, &other) && may_interrupt) capturer->Capture(tid, &other);
  return other;
}

int32_t WaitWalker::FindRunner(const Rest& rest, const stack::Stack& stack, const Initializers::Wait& wait,
                               stack::StackCapturer* capturer, bool may_interrupt) {
  const base::Thread& waiting = rest.thread;
  const uint64_t futex = rest.blocked.arguments[0];
  const auto is_in_initializer = [&](const stack::Stack& one, uint32_t inner_count) {
    const auto outer = one.view().subspan(std::min(inner_count, one.frame_count));
    return HasFunction(outer, stack.view().subspan(wait.frames.begin, wait.frames.end - wait.frames.begin),
                       wait.frames.is_in_order);
  };
  const int64_t deadline_ns = SearchClockNs() + kStacksBudgetNs;
  Runners runners;
  base::ForEachThread(waiting.process, [&](int tid) {
    const base::Thread thread{waiting.process, tid};
    const bool is_caller = tid == gettid() && waiting.process.is_own();
    if (thread == waiting || is_caller || IsLagwatchsThread(thread)) return true;
    const stack::Stack& other = CaptureOther(tid, capturer, may_interrupt);
    const bool goes_on = SearchClockNs() < deadline_ns;
    if (other.completeness != stack::Completeness::kComplete || !goes_on) runners.MissSome();
    stack::BlockedThread blocked;
    const bool is_blocked = stack::ReadThreadActivity(thread, &blocked) == stack::ThreadActivity::kBlocked;
    if (!is_in_initializer(other, 1) || (is_blocked && WaitsThere(blocked, futex))) return goes_on;
    runners.Add(tid, is_blocked && CountOnStack(thread.process, blocked, futex) != 0);
    return goes_on;
  });
  const int32_t owner = runners.Owner(wait.needs_address);
  const bool is_own = runners.IsNone() && !wait.needs_address && is_in_initializer(stack, wait.frames.end);
  return is_own ? waiting.tid : owner;
}

}  // namespace lagwatch::watchdog
