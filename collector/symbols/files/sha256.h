// SPDX-License-Identifier: Apache-2.0
// Context: background.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

// The SHA-256 of a whole file, in lower case hex. Errors: kIo.
base::Result<std::string> Sha256OfFile(int fd);

// Whether it is one, as Sha256OfFile() writes it.
bool IsSha256(std::string_view text);

}  // namespace lagwatch::collector
