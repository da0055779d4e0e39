// SPDX-License-Identifier: Apache-2.0
// Paces an attempt that keeps failing, if each attempt costs and any may succeed: a few times at once, then
// more and more rarely, and at once when its conditions have changed. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

class SpoolOpenRetry {
 public:
  static constexpr int kTriesAtOnce = 3;
  static constexpr int64_t kFirstPauseNs = 1'000'000'000;
  static constexpr int64_t kLongestPauseNs = 60'000'000'000;

  // `state` is any number that changes with what the tries depend on; only asked for during a pause.
  template <typename State>
  bool MayTry(int64_t now_ns, State state) const {
    return failures_ < kTriesAtOnce || now_ns >= next_try_ns_ || state() != state_;
  }
  // `state` after the failure: the try itself may have changed it.
  void NoteFailed(int64_t now_ns, uint64_t state) {
    const int doublings = std::clamp(failures_ + 1 - kTriesAtOnce, 0, 6);
    failures_ = std::min(failures_ + 1, kTriesAtOnce + 6);
    next_try_ns_ = now_ns + std::min(kLongestPauseNs, kFirstPauseNs << doublings);
    state_ = state;
  }
  void NoteWorked() { failures_ = 0; }

 private:
  int failures_ = 0;
  int64_t next_try_ns_ = 0;
  uint64_t state_ = 0;
};

}  // namespace lagwatch::policies
