// SPDX-License-Identifier: Apache-2.0
// Where Sentry's SDKs send to, and with which key: "https://KEY@host:port/PROJECT". Context: background;
// pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::report {

struct SentryDsn {
  std::string endpoint;  // "https://host:port", and what stands before the project
  std::string key;       // the public one; older DSNs have a secret behind it, which nobody needs
  std::string project;
};

// Errors: kInvalid.
base::Result<SentryDsn> ParseSentryDsn(std::string_view dsn);

}  // namespace lagwatch::report
