// SPDX-License-Identifier: Apache-2.0
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/process/safe_memory.h"
#include "stack/signal/signal_handler.h"
#include "stack/signal_stacks.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace lagwatch::stack {
namespace {

// At most, below the kernel's frame: CaptureSignalTest.TakesLittleOfTheInterruptedThreadsStack.
constexpr size_t kHandlerBytes = 1024;
// Used if the kernel does not report the size of its frame.
constexpr size_t kUnknownFrameBytes = 7 * 1024;

// 0: free.
std::atomic<int> g_small[SignalStacks::kMaxSmall];
std::atomic<uint32_t> g_small_count{0};  // an upper bound: no search while it is 0
std::atomic<bool> g_is_overfull{false};  // some thread is not in the table: none gets a signal
std::atomic<int> g_sending_to[CaptureSlots::kMaxSlots];
static_assert(std::atomic<int>::is_always_lock_free, "not signal-safe");

// Open addressing by tid; an entry is never freed for another key while timers come and go, but reused.
struct Timer {
  std::atomic<int> tid;
  std::atomic<int> id_and_1;  // 0: none
};
constexpr size_t kTimers = 4096;
constexpr size_t kMostProbes = 64;
Timer g_timers[kTimers];
std::atomic<bool> g_has_timers{false};  // whether there ever was one

std::atomic<int>* FindSmall(int tid) {
  if (g_small_count.load() == 0) return nullptr;
  for (std::atomic<int>& small : g_small) {
    if (small.load() == tid) return &small;
  }
  return nullptr;
}

bool HasEnded(int tid) { return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH; }

void AddSmall(int tid) {
  if (FindSmall(tid) != nullptr) return;
  g_small_count.fetch_add(1);
  for (std::atomic<int>& small : g_small) {
    int expected = 0;
    if (small.compare_exchange_strong(expected, tid)) return;
  }
  for (std::atomic<int>& small : g_small) {  // the place of a thread that has ended
    int ended = small.load();
    if (ended == 0 ? small.compare_exchange_strong(ended, tid)
                   : HasEnded(ended) && small.compare_exchange_strong(ended, tid))
      return;
  }
  g_is_overfull.store(true);
}

void RemoveSmall(int tid) {
  std::atomic<int>* small = FindSmall(tid);
  if (small == nullptr) return;
  small->store(0);
  g_small_count.fetch_sub(1);
}

void DeleteTimersOf(int tid) {
  for (size_t probe = 0; probe < kMostProbes; ++probe) {
    Timer& timer = g_timers[(static_cast<size_t>(tid) + probe) % kTimers];
    if (timer.tid.load() != tid) continue;
    const int id_and_1 = timer.id_and_1.exchange(0);
    if (id_and_1 != 0) syscall(SYS_timer_delete, id_and_1 - 1);
  }
}

// Called when no capturer sends to the calling thread any more; waits until it has handled the signals sent.
void AwaitSignalsUnderWay(int tid) {
  // Asleep: the watchdog, which sends, gets no processor from a thread of real-time priority that yields.
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  for (const std::atomic<int>& sending_to : g_sending_to) {
    while (sending_to.load() == tid) syscall(SYS_nanosleep, &kPause, nullptr);
  }
  DeleteTimersOf(tid);
  syscall(SYS_gettid);  // a thread takes pending signals at the end of any call
}

}  // namespace

size_t SignalStacks::NeededBytes() {
  const size_t frame_bytes = getauxval(AT_MINSIGSTKSZ);
  return (frame_bytes != 0 ? frame_bytes : kUnknownFrameBytes) + kHandlerBytes;
}

bool SignalStacks::IsSmall(const stack_t& stack) {
  return (stack.ss_flags & SS_DISABLE) == 0 && stack.ss_size < NeededBytes();
}

int SignalStacks::Set(const stack_t* stack, stack_t* previous, SetStack real) {
  const int saved_errno = errno;
  stack_t wanted;
  if (stack == nullptr || !base::ReadOwnValue(reinterpret_cast<uint64_t>(stack), &wanted)) {
    errno = saved_errno;
    return real(stack, previous);  // a query, or an error
  }
  const int tid = gettid();
  const bool was_small = FindSmall(tid) != nullptr;
  const bool is_small = IsSmall(wanted);
  if (is_small) {
    AddSmall(tid);
    AwaitSignalsUnderWay(tid);
  }
  errno = saved_errno;
  const int result = real(stack, previous);
  if (result == 0 ? was_small && !is_small : is_small && !was_small) RemoveSmall(tid);
  return result;
}

void SignalStacks::NoteOwn() {
  const int tid = gettid();
  stack_t current{};
  if (syscall(SYS_sigaltstack, nullptr, &current) != 0) return;
  if (IsSmall(current)) {
    AddSmall(tid);
  } else {
    RemoveSmall(tid);  // of a thread that had this number before
  }
}

void SignalStacks::ForgetInForkedChild() {
  // Memory that is right already is left alone: to write it would copy its page in each child.
  if (g_small_count.load() != 0) {
    for (std::atomic<int>& small : g_small) small.store(0, std::memory_order_relaxed);
    g_small_count.store(0);
  }
  if (g_is_overfull.load()) g_is_overfull.store(false);
  for (std::atomic<int>& sending_to : g_sending_to) {
    if (sending_to.load() != 0) sending_to.store(0, std::memory_order_relaxed);
  }
  if (g_has_timers.load()) {  // none of which a child inherits
    for (Timer& timer : g_timers) timer.tid.store(0, std::memory_order_relaxed);
    g_has_timers.store(false);
  }
  NoteOwn();
}

bool SignalStacks::MustNotSignal(int tid) { return g_is_overfull.load() || FindSmall(tid) != nullptr; }

bool SignalStacks::TryBeginSend(uint32_t sender, int tid) {
  // Sequentially consistent, as the table: either this sees the thread's entry, or the thread sees this.
  g_sending_to[sender].store(tid);
  if (!MustNotSignal(tid)) return true;
  EndSend(sender);
  return false;
}

void SignalStacks::EndSend(uint32_t sender) { g_sending_to[sender].store(0); }

bool SignalStacks::TryAddTimer(int tid, int timer_id) {
  g_has_timers.store(true);
  for (size_t probe = 0; probe < kMostProbes; ++probe) {
    Timer& timer = g_timers[(static_cast<size_t>(tid) + probe) % kTimers];
    int expected = 0;
    if (!timer.tid.compare_exchange_strong(expected, tid)) continue;
    timer.id_and_1.store(timer_id + 1);
    if (!MustNotSignal(tid)) return true;
    RemoveTimer(tid, timer_id);
    return false;
  }
  return false;
}

bool SignalStacks::RemoveTimer(int tid, int timer_id) {
  for (size_t probe = 0; probe < kMostProbes; ++probe) {
    Timer& timer = g_timers[(static_cast<size_t>(tid) + probe) % kTimers];
    int expected = timer_id + 1;
    if (timer.tid.load() != tid) continue;
    const bool is_mine = timer.id_and_1.compare_exchange_strong(expected, 0);
    if (!is_mine && expected != 0) continue;  // another timer of that thread
    timer.tid.store(0);
    return is_mine;
  }
  return false;
}

}  // namespace lagwatch::stack
