// SPDX-License-Identifier: Apache-2.0
// The operator's config file: the clients' values (report/config/remote_config.h), for all clients or
// by override for some, and the clients that are always accepted. Format: docs/configuration.md.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collector/query/json/json_text.h"
#include "collector/query/json/source_template.h"

namespace lagwatch::collector {

// The client that requests its config.
struct ConfigClient {
  std::string app;
  std::string app_version;
  std::string user;
  // Of a secret of the user's own programs: the first 32 hexadecimal digits of SHA-256(secret, a line feed,
  // user). Empty for a program without one.
  std::string user_proof = {};
};

class ConfigFile {
 public:
  // Errors: kInvalid, with the key and its allowed values. Unlike clients, this refuses unknown keys and does
  // not clamp values, so that the author learns of a mistake.
  static base::Result<ConfigFile> Parse(std::string_view text);

  // The client's document, without version and expiry.
  Json DocumentFor(const ConfigClient& client) const;
  // Whether the client is on the allowlist by its proof: that cannot be guessed, as a name can.
  bool IsProved(const ConfigClient& client) const;
  int64_t expires_after_ms() const { return expires_after_ms_; }
  // Whether the version is one of "versions": it has room among the names of senders, however many they
  // bring.
  bool HasVersion(const std::string& app, const std::string& version) const;
  // The address of the program's sources, of "sources".
  std::optional<SourceTemplate> SourceOf(std::string_view app) const;
  // The least "user_rate_ppm" that any client gets; none if there is none.
  std::optional<uint64_t> LeastUserRatePpm() const;

 private:
  struct Override {
    std::string app;  // empty: any
    std::string app_version;
    Json values;
  };

  base::Status ReadOverrides(const Json& overrides);
  base::Status ReadVersions(const Json& versions);
  base::Status ReadSources(const Json& sources);

  Json values_ = Json::object();
  std::vector<Override> overrides_;
  std::set<std::string, std::less<>> allowlist_;
  std::set<std::pair<std::string, std::string>> versions_;  // of programs
  SourceTemplates sources_;
  int64_t expires_after_ms_ = 0;
};

}  // namespace lagwatch::collector
