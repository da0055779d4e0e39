// SPDX-License-Identifier: Apache-2.0
// The pause of an uploader after each round. Context: background; pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "policies/upload/upload_backoff.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::report {

class UploadPacing {
 public:
  static constexpr int64_t kPollMs = 1'000;
  static constexpr int64_t kUnauthorizedMs = 6 * 3600 * int64_t{1'000};
  static constexpr int64_t kMaxRetryAfterMs = 24 * 3600 * int64_t{1'000};

  // `answer` is what the round yielded, none when there was nothing to send; `random` any 64 random bits.
  int64_t DelayMs(const std::optional<UploadAnswer>& answer, uint64_t random) {
    if (!answer || answer->kind == UploadAnswer::Kind::kDelivered) {
      failures_ = 0;
      return answer ? 0 : kPollMs;
    }
    ++failures_;
    // A wrong key does not become right by asking again.
    bool is_refused = answer->kind == UploadAnswer::Kind::kUnauthorized;
    int64_t delay_ms = is_refused ? kUnauthorizedMs : upload_backoff_.DelayMs(failures_, random);
    return std::max(delay_ms, RetryAfterMs(*answer));
  }

  // Forgets failures: a refused upload may be accepted now.
  void Restart() { failures_ = 0; }
  int failures() const { return failures_; }  // one after the other
  bool is_failing() const { return failures_ > 0; }

 private:
  static int64_t RetryAfterMs(const UploadAnswer& answer) {
    return std::clamp<int64_t>(answer.retry_after_s, 0, kMaxRetryAfterMs / 1'000) * 1'000;
  }

  policies::UploadBackoff upload_backoff_;
  int failures_ = 0;
};

}  // namespace lagwatch::report
