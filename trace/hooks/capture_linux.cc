// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/process/safe_memory.h"
#include "base/process/thread_end_key.h"
#include "trace/hooks/capture.h"
#include "trace/hooks/stack_copies.h"

namespace lagwatch::trace {

constinit thread_local ThreadSlot t_slot{};
constinit CaptureState g_capture{};
constinit CaptureThreads g_capture_threads{};
constinit WaiterTable g_waiters{};

namespace {

// So many calls go by before the clock is read again, at most.
constexpr uint32_t kMostSkippedCalls = 31;

pthread_key_t g_end_key;
std::atomic<bool> g_has_end_key{false};  // release, acquire: the key comes before

void LeaveWait() {
  if (t_slot.wait.cell != nullptr) WaiterTable::Leave(t_slot.wait.cell);
  t_slot.wait = {};
}

// Whether the hook that the thread waits in is known to be no longer on the stack. Where the call instruction
// stores the return address, later calls overwrite it. The stack may be gone, as a coroutine's.
bool WasLeft(const ThreadSlot::Wait& wait, const CallRegisters& from) {
  if (from.stack_pointer == wait.stack_pointer) return true;
#if defined(__x86_64__)
  const int saved_errno = errno;
  uint64_t return_address = 0;
  base::ReadOwnMemory(wait.stack_pointer - sizeof return_address, &return_address, sizeof return_address);
  errno = saved_errno;
  return return_address != wait.return_address;
#else
  return false;
#endif
}

// The last code that runs on a thread. A thread that joins it continues from here.
void EndThread(void*) {
  LeaveWait();  // was cancelled while it waited
  const auto self = static_cast<uint64_t>(pthread_self());
  const uint64_t now_ticks = base::ReadTicks();
  if (g_waiters.HasWaiter(self)) CaptureWake(CallersRegisters(), CallKind::kJoin, self, now_ticks);
}

CaptureThread* OwnEntry(ThreadSlot* slot) {
  if (slot->thread != nullptr) return slot->thread;
  const uint32_t start_count = g_capture.start_count.load(std::memory_order_relaxed);  // a number
  // Acquire: the preparations for recording come before.
  if (slot->refused_start == start_count || !g_capture.is_recording.load(std::memory_order_acquire))
    return nullptr;
  slot->thread = g_capture_threads.Register(gettid());
  if (slot->thread == nullptr) {
    slot->refused_start = start_count;
  } else if (g_has_end_key.load(std::memory_order_acquire)) {
    pthread_setspecific(g_end_key, slot);
  }
  return slot->thread;
}

uint32_t DispatchOf(const ThreadSlot& slot) {
  if (slot.dispatch.number == nullptr) return 0;
  // Relaxed, both: the thread's own, or only numbers.
  const uint64_t number = slot.dispatch.number->load(std::memory_order_relaxed);
  const bool has_ended =
      slot.dispatch.ended != nullptr && slot.dispatch.ended->load(std::memory_order_relaxed) == number;
  if (has_ended) return 0;
  if (slot.dispatch_request != nullptr)
    slot.dispatch_request->store(0, std::memory_order_relaxed);  // a request
  return static_cast<uint32_t>(number);
}

void ReadTotals(const ThreadSlot& slot, Totals* totals) {
  timespec cpu{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  totals->cpu_ns = cpu.tv_sec * base::kNsPerSecond + cpu.tv_nsec;
  totals->allocations = slot.allocations;
  totals->allocated_bytes = slot.allocated_bytes;
  totals->minor_faults = static_cast<uint64_t>(usage.ru_minflt);
  totals->major_faults = static_cast<uint64_t>(usage.ru_majflt);
  totals->voluntary_switches = static_cast<uint64_t>(usage.ru_nvcsw);
  totals->involuntary_switches = static_cast<uint64_t>(usage.ru_nivcsw);
}

bool Write(const ThreadSlot& slot, CaptureThread* thread, const CallRegisters& from,
           const CaptureCall& call) {
  // Noted also when there is no room, so that it is not tried again at each call.
  thread->last_capture_ticks.store(call.end_ticks, std::memory_order_relaxed);  // orders nothing
  CaptureRecord* record = thread->ring->Reserve();
  if (record == nullptr) {
    CaptureThread::Count(&thread->dropped_full);
    return false;
  }
  bool is_complete = false;
  const size_t depth = g_capture.walker(g_capture.walker_context, from, CaptureRing::Pcs(record),
                                        CaptureRecord::kMaxDepth, &is_complete);
  record->begin_ticks = call.begin_ticks;
  record->end_ticks = call.end_ticks;
  record->object = call.object;
  record->dispatch = DispatchOf(slot);
  record->stack_copy =
      g_stack_copies.is_wanted()
          ? g_stack_copies.Take(from, call.registers, {CaptureRing::Pcs(record), depth}, &thread->last_copy)
          : 0;
  record->depth = static_cast<uint8_t>(depth);
  record->run = call.run;
  record->call = call.call;
  record->is_for_all = call.is_for_all;
  record->is_complete = is_complete;
  ReadTotals(slot, &record->totals);
  thread->ring->Commit(*record);
  CaptureThread::Count(&thread->captures);
  if (!is_complete) CaptureThread::Count(&thread->walk_incomplete);
  return true;
}

}  // namespace

ThreadSlot::Wait InterruptedWait(const CallRegisters& from) {
  if (t_slot.wait.cell != nullptr && WasLeft(t_slot.wait, from)) LeaveWait();
  return t_slot.wait;
}

ThreadSlot::Wait EnterWait(const CallRegisters& from, uint64_t object) {
  // The entry of a thread that is cancelled in its first wait goes at its end.
  if (t_slot.thread == nullptr && g_has_end_key.load(std::memory_order_acquire))
    pthread_setspecific(g_end_key, &t_slot);
  return {g_waiters.Enter(object), from.stack_pointer, from.program_counter};
}

bool Capture(const CallRegisters& from, const CaptureCall& call) {
  ThreadSlot& slot = t_slot;
  if (slot.is_busy || slot.is_left_out || !IsRecording()) {
    if (slot.is_busy && slot.thread != nullptr) CaptureThread::Count(&slot.thread->nested);
    return false;
  }
  const int saved_errno = errno;
  slot.is_busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  bool is_written = false;
  if (CaptureThread* thread = OwnEntry(&slot); thread != nullptr) {
    // Either this thread sees that recording has ended, or the thread that ended it sees this one and waits.
    thread->is_capturing.store(true);
    if (g_capture.is_recording.load()) is_written = Write(slot, thread, from, call);
    thread->is_capturing.store(false, std::memory_order_release);  // after all of it
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot.is_busy = false;
  errno = saved_errno;
  return is_written;
}

void LookAtClock(const CallRegisters& from, CallKind call) {
  ThreadSlot& slot = t_slot;
  if (slot.is_busy) return;  // a call that capturing makes, where our own are hooked, too
  const uint64_t now_ticks = base::ReadTicks();
  const int64_t interval_ticks = g_capture.interval_ticks.load(std::memory_order_relaxed);  // a number
  CapturePointAt(from, call, 0, now_ticks);
  const auto elapsed_ticks = static_cast<int64_t>(now_ticks - slot.clock_ticks);
  const bool is_fast = slot.clock_ticks != 0 && elapsed_ticks < interval_ticks / 64;
  slot.skipped_calls = is_fast ? std::min(2 * slot.skipped_calls + 1, kMostSkippedCalls) : 0;
  slot.calls_to_skip = slot.skipped_calls;
  slot.clock_ticks = now_ticks;
}

uint64_t CaptureAfter(const CallRegisters& from, CallKind call, uint64_t object, uint64_t begin_ticks) {
  const uint64_t end_ticks = base::ReadTicks();
  const auto waited_ticks = static_cast<int64_t>(end_ticks - begin_ticks);
  if (waited_ticks < g_capture.wait_ticks.load(std::memory_order_relaxed)) {  // a number
    CapturePointAt(from, call, object, end_ticks);
  } else {
    Capture(from, {RunKind::kWaited, call, object, begin_ticks, end_ticks});
  }
  return end_ticks;
}

void CaptureAfterPoll(const CallRegisters& from, uint64_t begin_ticks) {
  uint64_t& turn_ticks = t_slot.turn_ticks;
  const auto ran_ticks = static_cast<int64_t>(begin_ticks - turn_ticks);
  const bool was_long =
      turn_ticks != 0 && ran_ticks >= g_capture.interval_ticks.load(std::memory_order_relaxed);  // a number
  if (!was_long) {
    turn_ticks = CaptureAfter(from, CallKind::kPoll, 0, begin_ticks);
    return;
  }
  turn_ticks = base::ReadTicks();
  Capture(from, {RunKind::kWaited, CallKind::kPoll, 0, begin_ticks, turn_ticks});
}

ThreadIo* TakeThreadIo() {
  ThreadSlot& slot = t_slot;
  if (slot.is_io_refused || slot.is_left_out) return nullptr;
  const int saved_errno = errno;
  slot.io = g_thread_io.Take();
  slot.is_io_refused = slot.io == nullptr;
  errno = saved_errno;
  return slot.io;
}

void ForgetThreadIo() {
  ThreadSlot& slot = t_slot;
  slot.dispatch = {};
  ThreadIoTable::Release(slot.io);
  slot.io = nullptr;
}

void PrepareCapture() {
  static std::atomic<bool> is_prepared{false};
  if (is_prepared.exchange(true)) return;
  FindOwnStacks();
  g_has_end_key.store(base::CreateThreadEndKey(&g_end_key, EndThread), std::memory_order_release);
  pthread_atfork(nullptr, nullptr, ForgetCaptures);
}

void ForgetCaptures() {
  g_capture.is_recording.store(false);
  g_capture.interval_ticks.store(CaptureState::kNever);
  g_capture.wait_ticks.store(CaptureState::kNever);
  // A handler that forks may have interrupted a capture of this thread, which goes on in the child.
  g_capture_threads.ForgetAll(t_slot.is_busy ? t_slot.thread : nullptr);
  g_stack_copies.SetWanted(false);
  g_stack_copies.Forget();
  g_waiters.Clear();
  g_thread_io.Forget();
  t_slot.io = nullptr;
  t_slot.thread = nullptr;
  t_slot.wait = {};
}

}  // namespace lagwatch::trace
