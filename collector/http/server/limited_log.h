// SPDX-License-Identifier: Apache-2.0
// Log lines that others can cause: so few that an attack does not fill the disk.
// Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "collector/keys/token_bucket.h"

namespace lagwatch::collector {

class LimitedLog {
 public:
  static constexpr double kBurst = 50;
  static constexpr double kLinesPerS = 5;

  LimitedLog();

  void Info(const std::string& line) { Write(false, line); }
  void Warn(const std::string& line) { Write(true, line); }
  uint64_t left_out() const;

 private:
  void Write(bool is_warning, const std::string& line);

  mutable std::mutex mutex_;
  TokenBucket lines_;      // guarded by mutex_
  uint64_t left_out_ = 0;  // since the last line; likewise
};

// A request's target without its query, which may hold keys (sentry_key) and users.
std::string TargetForLog(std::string_view target);

// Quotes untrusted text for a log line: control characters are replaced; cut after 200 bytes.
std::string Quoted(std::string_view text);

}  // namespace lagwatch::collector
