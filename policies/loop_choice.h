// SPDX-License-Identifier: Apache-2.0
// Decides which threads run the program's loops if none is named: the main thread if it returns to a wait,
// else the threads that do while the main thread only waits for others (pthread_join, sigwait, pause).
// Context: any; pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

// The waits of one thread until now, without its first.
struct WaitHistory {
  uint32_t waits = 0;
  int64_t waited_ns = 0;
  int64_t worked_ns = 0;  // between its waits

  // A thread that waits now and then and works for long by design would be reported as hanging. A loop has
  // returned to its wait several times and has spent most of its time there, or never long outside.
  // Once the main thread has ended, another takes its place, and is one as soon as it waits again.
  bool IsLoop(bool has_main_ended) const {
    constexpr uint32_t kMinWaitsAsMain = 1;
    constexpr uint32_t kMinWaits = 3;
    constexpr uint32_t kManyWaits = 20;
    constexpr int64_t kShortWorkNs = 20'000'000;
    if (has_main_ended && waits >= kMinWaitsAsMain) return true;
    if (waits < kMinWaits) return false;
    return waited_ns >= worked_ns || (waits >= kManyWaits && worked_ns / waits <= kShortWorkNs);
  }
};

// Observations of the main thread.
struct MainThreadFacts {
  uint64_t dispatches = 0;      // begun, each after a wait
  bool is_in_dispatch = false;  // false before its first wait, too
  bool has_ended = false;
  int64_t cpu_ns = 0;  // that it has used
};

// Thread safety: one thread at a time.
class MainThreadRole {
 public:
  // True when other threads' loops are to be watched: the main thread is blocked outside of a wait, or does
  // not come to its second wait for a second. To be called now and then, not before next_look_ns().
  bool LeavesLoopsToOthers(const MainThreadFacts& facts, int64_t now_ns) {
    constexpr int64_t kQuietNs = 1'000'000'000;
    constexpr int64_t kShortestNs = 20'000'000;
    constexpr int64_t kLongestNs = 10'000'000'000;
    const bool is_first = since_ns_ == 0;
    const bool has_waited = facts.dispatches != dispatches_;
    const bool is_blocked =
        facts.has_ended || (!is_first && facts.cpu_ns - cpu_ns_ <= (now_ns - looked_ns_) / kBusyShare);
    if (is_first || has_waited || !is_blocked) blocked_since_ns_ = now_ns;
    if (is_first || has_waited) since_ns_ = now_ns;
    dispatches_ = facts.dispatches;
    cpu_ns_ = facts.cpu_ns;
    looked_ns_ = now_ns;
    const bool is_loop = facts.dispatches >= 2;
    if (is_loop && (has_waited || !facts.is_in_dispatch)) {
      look_interval_ns_ = std::min(look_interval_ns_ * 2, kLongestNs);
      since_ns_ = blocked_since_ns_ = now_ns;
    } else {
      look_interval_ns_ = kShortestNs;
    }
    next_look_ns_ = now_ns + look_interval_ns_;
    if (facts.has_ended) return true;
    if (is_loop) return now_ns - blocked_since_ns_ >= kQuietNs;
    return is_blocked || now_ns - since_ns_ >= kQuietNs;
  }
  int64_t next_look_ns() const { return next_look_ns_; }

 private:
  static constexpr int64_t kBusyShare = 20;  // a thread that uses less than this part of the time is blocked

  uint64_t dispatches_ = 0;
  int64_t cpu_ns_ = 0;
  int64_t looked_ns_ = 0;
  int64_t since_ns_ = 0;          // of its last wait; 0: it was not looked at
  int64_t blocked_since_ns_ = 0;  // and since its last use of CPU
  int64_t next_look_ns_ = 0;
  int64_t look_interval_ns_ = 20'000'000;
};

}  // namespace lagwatch::policies
