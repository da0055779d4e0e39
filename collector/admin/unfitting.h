// SPDX-License-Identifier: Apache-2.0
// Errors of requests by admins. Context: background; pure.
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// kInvalid; says where to read on.
inline base::Status Unfitting(const std::string& what) {
  return {base::StatusCode::kInvalid, what + "; see collector/API.md"};
}

}  // namespace lagwatch::collector
