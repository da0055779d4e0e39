// SPDX-License-Identifier: Apache-2.0
#include "stack/outside_capturer_linux.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/ticks.h"
#include "stack/sleeping_stack.h"
#include "stack/stopped_thread.h"

namespace lagwatch::stack {

base::Result<std::unique_ptr<StackCapturer>> StackCapturer::CreateOutside(
    const base::Process& process, const CaptureOptions& options, std::unique_ptr<Unwinder> unwinder) {
  auto capturer =
      std::make_unique<OutsideCapturer>(options, std::make_shared<CodeMap>(std::move(unwinder), process));
  if (!capturer->ok()) return base::Status(base::StatusCode::kUnavailable, "no memory for a stack's copy");
  return std::unique_ptr<StackCapturer>(std::move(capturer));
}

OutsideCapturer::OutsideCapturer(const CaptureOptions& options, std::shared_ptr<CodeMap> code)
    : StackCapturer(std::move(code)),
      stop_timeout_ns_(options.signal_timeout_ns),
      raw_(base::MapOwnBlock<RawStack>(1)),
      regions_(base::MapOwnBlock<MemoryRegion>(ModuleMap::kMaxRanges)) {}

StackRegions OutsideCapturer::Regions() {
  uint32_t refresh_count;
  return code_->CopyStacks(regions_.get(), &refresh_count);
}

void OutsideCapturer::Capture(int tid, Stack* stack, int64_t /*cpu_ns*/) {
  counters_.captures.Add();
  stack->Clear();
  no_stack_reason_ = NoStackReason::kNone;
  constexpr int kTries = 4;  // a thread may wake between two looks
  bool is_read = false;
  for (int i = 0; i < kTries && !is_read && no_stack_reason_ != NoStackReason::kGone; ++i)
    is_read = TryReadAsleep(tid, -1) || ReadStopped(tid);
  if (is_read) Unwind(raw_[0], stack);
  FinishCapture(tid, stack);
}

void OutsideCapturer::BeginCapture(int tid, int64_t cpu_ns, Stack* stack, NoStackReason* no_stack_reason) {
  Capture(tid, stack, cpu_ns);
  *no_stack_reason = no_stack_reason_;
}

bool OutsideCapturer::CaptureAsleep(int tid, Stack* stack, int activity_fd) {
  counters_.captures.Add();
  stack->Clear();
  if (!TryReadAsleep(tid, activity_fd)) return false;
  no_stack_reason_ = NoStackReason::kNone;
  Unwind(raw_[0], stack);
  FinishCapture(tid, stack);
  return true;
}

bool OutsideCapturer::CaptureRunning(int tid, Stack* stack, int64_t timeout_ns) {
  if (process().is_core()) return CaptureAsleep(tid, stack, -1);
  counters_.captures.Add();
  stack->Clear();
  if (!ReadSampledStack(tid, Regions(), timeout_ns, &raw_[0], &no_stack_reason_)) return false;
  Unwind(raw_[0], stack);
  FinishCapture(tid, stack);
  return true;
}

bool OutsideCapturer::TryReadAsleep(int tid, int activity_fd) {
  if (process().is_core()) return ReadSaved(tid);
  if (activity_fd < 0) activity_fd = thread_files_.DescriptorOf(tid, ThreadFile::kActivity);
  BlockedThread blocked;
  const ThreadActivity activity = ReadThreadActivity(thread(tid), activity_fd, &blocked);
  if (activity == ThreadActivity::kGone) no_stack_reason_ = NoStackReason::kGone;
  if (activity == ThreadActivity::kHidden) no_stack_reason_ = NoStackReason::kHidden;
  if (activity != ThreadActivity::kBlocked) return false;
  const StackRegions regions = Regions();
  if (!regions.Knows(blocked.stack_pointer)) code_->NoteUnknownMemory();
  return ReadSleepingStack(thread(tid), blocked, regions, activity_fd, &raw_[0], &no_stack_reason_);
}

void OutsideCapturer::ReadLiveStackAt(uint64_t pointer, RawStack* raw) {
  const MemoryRegion live = Regions().LiveStack(pointer);
  raw->address = live.begin;
  raw->end = live.end;
  raw->size_bytes = process().Read(raw->address, raw->bytes,
                                   std::min<uint64_t>(raw->end - raw->address, kMaxRawStackBytes));
  no_stack_reason_ = raw->size_bytes == 0 ? NoStackReason::kUnreadable : NoStackReason::kNone;
}

bool OutsideCapturer::ReadSaved(int tid) {
  no_stack_reason_ = NoStackReason::kGone;
  if (!ReadSavedRegisters(thread(tid), &raw_[0].registers)) return false;
  RawStack& raw = raw_[0];
  const uint64_t pointer = raw.registers.stack_pointer();
  ReadLiveStackAt(pointer, &raw);
  // The pointer of a stack that has overflowed is in no memory: the frames above it are.
  constexpr uint64_t kPageBytes = 4096;
  constexpr uint64_t kMostGapBytes = 256 << 10;
  for (uint64_t gap = 0; raw.size_bytes == 0 && gap < kMostGapBytes; gap += kPageBytes)
    ReadLiveStackAt((pointer | (kPageBytes - 1)) + 1 + gap, &raw);
  return raw.size_bytes != 0;
}

bool OutsideCapturer::ReadStopped(int tid) {
  if (process().is_core()) return false;
  if (ReadThreadStateLetter(thread(tid)) != 'R') return false;
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const uint64_t begin_ticks = base::ReadTicks();
  {
    const StoppedThread stopped(tid, stop_timeout_ns_);
    RawStack& raw = raw_[0];
    if (!stopped.is_stopped() || !stopped.ReadRegisters(&raw.registers)) {
      no_stack_reason_ = stopped.reason();
      return false;
    }
    ReadLiveStackAt(raw.registers.stack_pointer(), &raw);
  }
  counters_.pause_ticks.Add(base::ReadTicks() - begin_ticks);
  counters_.waited_ns.Add(static_cast<uint64_t>(base::SystemClock().MonoNs() - begin_ns));
  return raw_[0].size_bytes != 0;
}

}  // namespace lagwatch::stack
