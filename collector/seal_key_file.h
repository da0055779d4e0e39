// SPDX-License-Identifier: Apache-2.0
// The collector's seal key, in a file that the first start creates. Context: background.
#pragma once

#include <string>

#include "base/status.h"
#include "report/seal/seal_key.h"

namespace lagwatch::collector {

// Errors: kIo, kInvalid when the file is damaged, kInternal.
base::Result<report::SealKey> LoadOrCreateSealKey(const std::string& path);

}  // namespace lagwatch::collector
