// SPDX-License-Identifier: Apache-2.0
// The collector's config for `lagwatch run`. Context: background.
#pragma once

#include <lagwatch/options.h>

#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// As TakeStoredConfig (tools/commands.h). Needs OpenSSL.
base::Result<bool> ApplyStoredRunConfig(const std::string& app, Options* options);

}  // namespace lagwatch::tools
