// SPDX-License-Identifier: Apache-2.0
// Log lines that others can cause: so few that an attack does not fill the disk.
// Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "collector/keys/token_bucket.h"

namespace lagwatch::collector {

// The request that a line is about, for a log of JSON.
struct LogFacts {
  std::string key = {};                              // its name, never its text; empty: none
  std::string peer = {};                             // the client's address
  int status = 0;                                    // of the answer; 0: not yet
  std::optional<double> duration_ms = std::nullopt;  // since the request's head was read

  // Of the line that this thread writes; null: none.
  static const LogFacts* OfThisLine();
};

class LimitedLog {
 public:
  static constexpr double kBurst = 50;
  static constexpr double kLinesPerS = 5;

  LimitedLog();

  void Info(const std::string& line, const LogFacts& facts = {}) { Write(false, line, facts); }
  void Warn(const std::string& line, const LogFacts& facts = {}) { Write(true, line, facts); }
  uint64_t left_out() const;

 private:
  void Write(bool is_warning, const std::string& line, const LogFacts& facts);

  mutable std::mutex mutex_;
  TokenBucket lines_;      // guarded by mutex_
  uint64_t left_out_ = 0;  // since the last line; likewise
};

// A request's target without its query, which may hold keys (sentry_key) and users.
std::string TargetForLog(std::string_view target);

// Quotes untrusted text for a log line: control characters are replaced; cut after 200 bytes.
std::string Quoted(std::string_view text);

}  // namespace lagwatch::collector
