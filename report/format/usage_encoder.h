// SPDX-License-Identifier: Apache-2.0
// Writes a Usage record into a fixed buffer, front to back, without allocation.
// Context: watchdog. Not thread-safe. For its exceptions see report_encoder.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/uuid.h"
#include "policies/usage.h"
#include "report/format/fields.h"
#include "report/format/fixed_buffer.h"

namespace lagwatch::report {

// The origin and the period of a usage record. Views are borrowed for the call.
struct UsageHeader {
  base::Uuid id = {};
  base::Uuid session_id = {};
  std::string_view app = {};
  std::string_view app_version = {};
  std::string_view user = {};
  int64_t begin_wall_ms = 0;
  int64_t end_wall_ms = 0;
  uint32_t sample_rate_ppm = 0;
};

class UsageEncoder {
 public:
  // Clears `buffer` and borrows it.
  UsageEncoder(const UsageHeader& header, FixedBuffer* buffer);
  UsageEncoder(const UsageEncoder&) = delete;
  UsageEncoder& operator=(const UsageEncoder&) = delete;

  void AddLoop(std::string_view loop, const policies::LoopUsage& usage);
  void AddSlow(std::string_view loop, std::string_view tag, const policies::SlowDispatches& dispatches);
  void AddValue(std::string_view key, std::string_view value, const policies::UsagePart& usage);
  // Nothing when `count` is 0.
  void AddSuppressed(policies::SuppressedReason reason, uint64_t count);

  // False once anything did not fit.
  bool ok() const { return !buffer_->overflowed(); }

 private:
  FixedBuffer* buffer_;
  FixedWriter writer_;
};

}  // namespace lagwatch::report
