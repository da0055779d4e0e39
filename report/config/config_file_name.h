// SPDX-License-Identifier: Apache-2.0
// The name of the file in the spool directory that keeps a remote config: several programs may share a
// directory, and each user of each has one. Context: background; pure.
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"

namespace lagwatch::report {

struct ConfigAudience {
  std::string app;
  std::string user;
  std::string user_proof = {};  // for the allowlist; the collector alone reads it
};

inline constexpr std::string_view kConfigPrefix = "config-";
inline constexpr std::string_view kNewConfigSuffix = ".new";  // while it is being written

inline std::string ConfigFileName(const ConfigAudience& audience) {
  constexpr std::string_view kBetween("\0", 1);
  uint64_t hash = base::HashBytes(audience.app);
  hash = base::HashBytes(audience.user, base::HashBytes(kBetween, hash));
  return std::string(kConfigPrefix) + base::ToHex(hash);
}

}  // namespace lagwatch::report
