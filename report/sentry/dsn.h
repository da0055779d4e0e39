// SPDX-License-Identifier: Apache-2.0
// Parses a DSN of Sentry's SDKs, the address and the key to send with: "https://KEY@host:port/PROJECT".
// Context: background; pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::report {

struct SentryDsn {
  std::string endpoint;  // "https://host:port", and the path before the project
  std::string key;       // the public one; older DSNs have a secret behind it, which is unused
  std::string project;
};

// Errors: kInvalid.
base::Result<SentryDsn> ParseSentryDsn(std::string_view dsn);

}  // namespace lagwatch::report
