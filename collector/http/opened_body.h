// SPDX-License-Identifier: Apache-2.0
// A request's body as it was before it was compressed. Context: background; pure.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "collector/http/server/request.h"

namespace lagwatch::collector {

struct BodyLimits {
  uint64_t body_bytes = 2 << 20;      // as sent: room for a trace and its report
  uint64_t inflated_bytes = 8 << 20;  // after decompression
};

// Replaces the body by its decompressed content, with as much room for it as it takes. Errors: those of
// InflateGzip; kUnavailable if there is no room for now.
base::Status OpenBody(const BodyLimits& limits, Request* request);

}  // namespace lagwatch::collector
