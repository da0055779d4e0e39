// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::trace {

// Writes the whole file, or nothing: the previous file stays if it fails. A special file, or a link as
// /dev/stdout is, is written to instead of replaced. Errors: kIo. Context: background.
base::Status WriteWholeFile(const std::string& path, std::string_view bytes);

}  // namespace lagwatch::trace
