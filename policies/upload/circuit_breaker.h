// SPDX-License-Identifier: Apache-2.0
// Stops requests to a host that does not answer; several clients share their findings. After some failures
// in a row no request is made for a while; then one may try, and its answer decides. Context: background;
// pure. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

class CircuitBreaker {
 public:
  static constexpr int kFailuresToOpen = 5;
  static constexpr int64_t kFirstPauseMs = 30'000;
  static constexpr int64_t kLongestPauseMs = 3'600'000;
  static constexpr int64_t kLongestRequestMs = 24 * 3600 * int64_t{1'000};

  // The time until the next permitted request; 0 if one is permitted. Times are of one clock that
  // never runs backwards.
  int64_t WaitMs(int64_t now_ms) const { return std::max<int64_t>(0, not_before_ms_ - now_ms); }
  bool is_open() const { return failures_ >= kFailuresToOpen; }

  // The host answered, even if with a refusal.
  void NoteAnswer() {
    failures_ = 0;
    not_before_ms_ = 0;
  }
  // The host did not answer, or reported that it is not available; `wished_ms` is the pause that it
  // requested, 0 without one. Granted up to a day.
  void NoteFailure(int64_t now_ms, int64_t wished_ms) {
    failures_ = std::min(failures_ + 1, kFailuresToOpen + 30);
    int64_t pause_ms = 0;
    if (is_open())
      pause_ms = std::min(kLongestPauseMs, kFirstPauseMs << std::min(failures_ - kFailuresToOpen, 20));
    pause_ms = std::max(pause_ms, std::clamp<int64_t>(wished_ms, 0, kLongestRequestMs));
    not_before_ms_ = std::max(not_before_ms_, now_ms + pause_ms);
  }

 private:
  int failures_ = 0;  // in a row
  int64_t not_before_ms_ = 0;
};

}  // namespace lagwatch::policies
