// SPDX-License-Identifier: Apache-2.0
// Secrets in files that the first start creates. Context: background.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// The secret in the file `path`, without blanks around it; when there is no such file, it is created (mode
// 0600) with what `create` returns. Errors: kIo, kInvalid when the file is empty, and those of `create`.
base::Result<std::string> LoadOrCreateSecret(const std::string& path,
                                             const std::function<base::Result<std::string>()>& create);

}  // namespace lagwatch::collector
