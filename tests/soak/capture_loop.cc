// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/capture_loop.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/clock.h"
#include "tests/soak/process_footprint.h"
#include "tests/soak/soak_worker.h"

namespace lagwatch::soak {
namespace {

constexpr uint64_t kMostPrinted = 5;

}  // namespace

CaptureLoop::CaptureLoop(stack::StackCapturer* capturer, std::set<int> workers)
    : capturer_(capturer), workers_(std::move(workers)), thread_(&CaptureLoop::Run, this) {}

CaptureLoop::~CaptureLoop() { Stop(); }

void CaptureLoop::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void CaptureLoop::Run() {
  constexpr int64_t kRefreshNs = 5'000'000;
  constexpr int64_t kRefreshShare = 10;  // at most so much of the time goes into it, one in ten
  int64_t refresh_at_ns = 0;
  for (size_t next = 0; !stop_; ++next) {
    int64_t now_ns = base::SystemClock().MonoNs();
    if (now_ns >= refresh_at_ns) {
      Refresh();
      int64_t end_ns = base::SystemClock().MonoNs();
      refresh_at_ns = end_ns + std::max(kRefreshNs, (end_ns - now_ns) * (kRefreshShare - 1));
    }
    int tid = targets_[next % targets_.size()];
    capturer_->Capture(tid, stack_.get());
    Count(tid);
  }
}

void CaptureLoop::Refresh() {
  capturer_->RefreshModules();
  targets_ = ListThreads();
  std::erase(targets_, gettid());
}

void CaptureLoop::Count(int tid) {
  tally_.captures.Add();
  tally_.invalid.Add(!IsValid());
  switch (stack_->completeness) {
    case stack::Completeness::kComplete:
    case stack::Completeness::kProbable:
      tally_.complete.Add();
      if (workers_.contains(tid) && !HasRoot()) {
        tally_.rootless.Add();
        if (tally_.rootless.value() <= kMostPrinted) PrintStack(tid);
      }
      break;
    case stack::Completeness::kCut:
      tally_.cut.Add();
      break;
    case stack::Completeness::kIncomplete:
      tally_.incomplete.Add();
      break;
    case stack::Completeness::kNone:
      tally_.none.Add();
      break;
  }
}

bool CaptureLoop::IsValid() const {
  if (stack_->frame_count > stack::kMaxFrames || stack_->gap_at > stack_->frame_count) return false;
  if (stack_->completeness == stack::Completeness::kComplete && stack_->frame_count == 0) return false;
  for (const stack::Frame& frame : stack_->view()) {
    if (frame.module != stack::kNoModule && frame.module >= capturer_->modules().module_count()) return false;
  }
  return true;
}

void CaptureLoop::PrintStack(int tid) const {
  std::fprintf(stderr, "soak: thread %d, frames as module+offset (function):\n", tid);
  for (const stack::Frame& frame : stack_->view()) {
    const char* module =
        frame.module == stack::kNoModule ? "?" : capturer_->modules().module(frame.module).path;
    std::fprintf(stderr, "  %s+%#" PRIx64 " (%#" PRIx64 ")\n", module, frame.offset, frame.function_offset);
  }
}

bool CaptureLoop::HasRoot() const {
  for (const stack::Frame& frame : stack_->view()) {
    if (frame.module == stack::kNoModule) continue;
    uint64_t function = capturer_->modules().module(frame.module).load_bias + frame.function_offset;
    if (function == reinterpret_cast<uint64_t>(&SoakWorker::Run)) return true;
    if (function == reinterpret_cast<uint64_t>(&RunCoroutine)) return true;
  }
  return false;
}

}  // namespace lagwatch::soak
