// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <ctime>

#include "trace/hooks/hook_recorder.h"
#include "trace/hooks/stack_copies.h"

namespace lagwatch::trace {
namespace {

// The process that records; a child of fork() is another one.
std::atomic<int> g_recording_process{0};

constexpr int64_t kScaleNs = 5 * base::kNsPerMs;
constexpr int64_t kStopTimeoutNs = base::kNsPerSecond;

// Precise enough for intervals; the conversion of the records' times measures for longer.
double MeasureTicksPerNs() {
  const base::TickPair first = base::ReadTickPair(base::SystemClock());
  const timespec pause{0, kScaleNs};
  nanosleep(&pause, nullptr);
  const base::TickPair last = base::ReadTickPair(base::SystemClock());
  return static_cast<double>(last.ticks - first.ticks) / static_cast<double>(last.mono_ns - first.mono_ns);
}

}  // namespace

base::Status HookRecorder::Start(const HookOptions& options) {
  const int process = getpid();
  int recording = g_recording_process.load();
  do {
    if (recording == process)
      return base::Status(base::StatusCode::kUnavailable,
                          "this process is recording already: stop that first");
  } while (!g_recording_process.compare_exchange_weak(recording, process));
  PrepareCapture();
  g_capture_threads.Drain([](int32_t, const CaptureRecord&, const uint64_t*) {});  // of the last recording
  g_stack_copies.Forget();
  ticks_per_ns_ = MeasureTicksPerNs();
  g_capture.walker = options.walker;
  g_capture.walker_context = options.walker_context;
  g_capture.families.store(options.families);
  g_capture.start_count.fetch_add(1);
  g_capture.wait_ticks.store(ToTicks(options.wait_ns));
  g_capture.interval_ticks.store(ToTicks(options.interval_ns));
  g_capture.is_recording.store(true);
  is_started_ = true;
  ImportTables::Shared().Install(HookUser::kRecorder, options.families, options.modules);
  return {};
}

void HookRecorder::SetInterval(int64_t interval_ns) {
  if (is_recording()) g_capture.interval_ticks.store(ToTicks(interval_ns));
}

bool HookRecorder::Stop() {
  if (!is_started_) return true;
  is_started_ = false;
  int process = getpid();
  if (g_recording_process.load() != process) return true;  // the parent's
  ImportTables::Shared().Remove(HookUser::kRecorder);
  g_capture.is_recording.store(false);
  g_stack_copies.SetWanted(false);
  g_capture.interval_ticks.store(CaptureState::kNever);
  g_capture.wait_ticks.store(CaptureState::kNever);
  const bool is_over = g_capture_threads.WaitForCaptures(kStopTimeoutNs);
  g_recording_process.compare_exchange_strong(process, 0);
  return is_over;
}

HookCounters HookRecorder::counters() {
  return {g_capture_threads.counts(), g_capture_threads.refused_count(), g_waiters.refused_count(),
          ImportTables::Shared().counts()};
}

int64_t HookRecorder::ToTicks(int64_t ns) const {
  return static_cast<int64_t>(static_cast<double>(ns) * ticks_per_ns_);
}

bool CaptureHere(bool is_forced) {
  const uint64_t now_ticks = base::ReadTicks();
  if (!is_forced && !IsDue(now_ticks)) return false;
  return Capture(CallersRegisters(), {RunKind::kCaptured, CallKind::kUser, 0, now_ticks, now_ticks});
}

}  // namespace lagwatch::trace
