// SPDX-License-Identifier: Apache-2.0
// The collector's config for its clients: a JSON document, signed (signed_document.h). Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::report {

// "For this cause in this version, take a trace the next time."
struct CaptureRequest {
  static constexpr size_t kMaxRequests = 64;
  static constexpr uint32_t kLeastIntervalUs = 1'000;
  static constexpr uint32_t kMostIntervalUs = 100'000;

  uint64_t cluster = 0;
  std::string app_version;  // empty: any
  uint32_t interval_us = kLeastIntervalUs;
};

// "Run this script of the signed allowlist once in each start."
struct ProbeRequest {
  static constexpr size_t kMaxRequests = 64;
  static constexpr uint32_t kAllPpm = 1'000'000;
  static constexpr uint32_t kMostDurationS = 3'600;

  std::string script;                 // HashOfScript(): 64 hexadecimal digits in lower case
  std::string app;                    // empty: any
  std::string app_version;            // likewise
  uint32_t user_share_ppm = kAllPpm;  // of users that send reports
  uint32_t duration_s = 60;

  bool operator==(const ProbeRequest&) const = default;
};

// Every number is in its range. None: the program's own option holds.
struct RemoteConfig {
  uint64_t version = 0;         // grows; an older document never takes a newer one's place
  int64_t expires_wall_ms = 0;  // from then on as if there were none
  std::string app;              // a document for another program or user is ignored
  std::string user;
  bool is_killed = false;  // nothing is watched, kept or sent
  bool is_forced = false;  // this user's reports are all sent, at once
  // A member for each number in the table.
#define REMOTE_NUMBER(name, ...) std::optional<uint32_t> name;
#include "policies/options/remote_keys.def"
  std::vector<CaptureRequest> capture_requests;
  std::vector<ProbeRequest> probe_requests;

  bool IsExpired(int64_t now_wall_ms) const { return now_wall_ms >= expires_wall_ms; }
};

// A number's key in the document, where it goes, and its range.
struct NumberKey {
  const char* name;
  std::optional<uint32_t> RemoteConfig::*value;
  uint32_t least;
  uint32_t most;
};
std::span<const NumberKey> NumberKeys();

// Unknown keys are ignored, numbers out of their range are clamped to it. Errors: kInvalid, which names the
// key, for a text that is not JSON, has no version or expiry, or has a value of the wrong type.
base::Result<RemoteConfig> ParseRemoteConfig(std::string_view text);

}  // namespace lagwatch::report
