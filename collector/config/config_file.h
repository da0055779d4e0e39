// SPDX-License-Identifier: Apache-2.0
// The operator's config file: what clients are told (report/config/remote_config.h), for all or by override
// for some, and who is always listened to. Format: docs/configuration.md. Context: background; pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/query/json_text.h"

namespace lagwatch::collector {

// Who asks.
struct ConfigClient {
  std::string app;
  std::string app_version;
  std::string user;
};

class ConfigFile {
 public:
  // Errors: kInvalid, which names the key and says what it may be. Unlike clients, this refuses what it does
  // not know, and brings nothing into its range: whoever wrote it wants to hear of a slip.
  static base::Result<ConfigFile> Parse(std::string_view text);

  // What this client is told, but for version and expiry.
  Json DocumentFor(const ConfigClient& client) const;
  int64_t expires_after_ms() const { return expires_after_ms_; }

 private:
  struct Override {
    std::string app;  // empty: any
    std::string app_version;
    Json values;
  };

  base::Status ReadOverrides(const Json& overrides);

  Json values_ = Json::object();
  std::vector<Override> overrides_;
  std::set<std::string, std::less<>> allowlist_;
  int64_t expires_after_ms_ = 0;
};

}  // namespace lagwatch::collector
