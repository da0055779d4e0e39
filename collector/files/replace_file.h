// SPDX-License-Identifier: Apache-2.0
// Replaces small files as a whole. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

// Writes `path` (mode 0600) so that a reader, or the next start after a crash, finds the old content or the
// new one, never a part; on disk when it returns. Two writers of one file must take turns. Errors: kIo.
base::Status ReplaceFile(const std::string& path, std::string_view content);

}  // namespace lagwatch::collector
