// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/dump_requests.h"

#include <cstring>

#include "base/clock.h"

namespace lagwatch::watchdog {

void DumpRequests::Open(int64_t interval_ns) {
  limit_.SetInterval(interval_ns);
  state_.store(kFree);
}

DumpRequests::Answer DumpRequests::Ask(const char* reason, int signal_number) {
  if (state_.load() == kClosed) return Answer::kOff;
  if (!Move(kFree, kBeingWritten)) {
    refused_count_.Add();
    return Answer::kRefused;
  }
  if (!limit_.TryPass(base::SystemClock().MonoNs())) {
    Move(kBeingWritten, kFree);
    refused_count_.Add();
    return Answer::kRefused;
  }
  uint64_t words[kReasonWords] = {};
  if (reason != nullptr) std::memcpy(words, reason, strnlen(reason, sizeof words - 1));
  // Relaxed: published by the state.
  for (size_t i = 0; i < kReasonWords; ++i) reason_[i].store(words[i], std::memory_order_relaxed);
  signal_number_.store(signal_number, std::memory_order_relaxed);
  if (!Move(kBeingWritten, kPending)) return Answer::kOff;
  watchdog_->Wake();
  return Answer::kAccepted;
}

bool DumpRequests::Take(DumpRequest* request) {
  if (!Move(kPending, kTaken)) return false;
  uint64_t words[kReasonWords];
  for (size_t i = 0; i < kReasonWords; ++i) words[i] = reason_[i].load(std::memory_order_relaxed);
  std::memcpy(request->reason, words, sizeof request->reason);
  request->signal_number = signal_number_.load(std::memory_order_relaxed);
  return true;
}

void DumpRequests::Finish() { Move(kTaken, kFree); }

}  // namespace lagwatch::watchdog
