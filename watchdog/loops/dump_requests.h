// SPDX-License-Identifier: Apache-2.0
// Passes requests for a dump to the watchdog: the stacks of all threads, with or without a hang.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/counter.h"
#include "base/process/sleeper.h"
#include "policies/upload/rate_limit.h"

namespace lagwatch::watchdog {

// The request.
struct DumpRequest {
  static constexpr size_t kMaxReasonBytes = 128;

  char reason[kMaxReasonBytes];  // may be empty
  int signal_number;             // that asked; 0: a function did
};

// One request at a time: a request is refused while an earlier one's dump is not made yet.
//
//   closed ◀──▶ free ──Ask──▶ being written ──▶ pending ──Take──▶ taken ──Finish──▶ free
//
// Thread safety: Ask from any thread; no call waits. Take and Finish from the watchdog's thread, Open and
// Close from the thread that starts and stops it.
class DumpRequests {
 public:
  // `watchdog` is woken by a request; borrowed.
  explicit DumpRequests(base::Sleeper* watchdog) : watchdog_(watchdog) {}

  // From now on requests are taken, one in `interval_ns` at most. Context: background.
  void Open(int64_t interval_ns);
  // Refuses requests from now on, and drops a pending one. Context: background.
  void Close() { state_.store(kClosed); }
  // The same, but false, and nothing changed, when a request is pending. Context: watchdog.
  bool CloseIfIdle() {
    return Move(kFree, kClosed) || Move(kBeingWritten, kClosed) || state_.load() == kClosed;
  }

  enum class Answer { kAccepted, kRefused, kOff };
  // Copies `reason`, which may be null and is cut to the request's size. Context: any, signal included, where
  // the handler is to keep errno.
  Answer Ask(const char* reason, int signal_number);

  // True when there is a request; it must then be finished. Context: watchdog.
  bool Take(DumpRequest* request);
  void Finish();

  // Asked for too soon after another one, or before that was made.
  uint64_t refused_count() const { return refused_count_.value(); }

 private:
  static constexpr size_t kReasonWords = DumpRequest::kMaxReasonBytes / sizeof(uint64_t);

  enum RequestState : uint32_t { kClosed, kFree, kBeingWritten, kPending, kTaken };

  bool Move(uint32_t from, RequestState to) { return state_.compare_exchange_strong(from, to); }

  base::Sleeper* watchdog_;
  std::atomic<uint32_t> state_{kClosed};
  policies::RateLimit limit_;
  base::Counter refused_count_;
  // Atomic, because a request that was being written when all were closed may meet the next one.
  std::atomic<uint64_t> reason_[kReasonWords]{};
  std::atomic<int> signal_number_{0};
  static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
                "not signal-safe");
};

}  // namespace lagwatch::watchdog
