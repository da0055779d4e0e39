// SPDX-License-Identifier: Apache-2.0
// The refusals of requests by admins. Context: background; pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// kInvalid; says where to read on.
inline Status Unfitting(const std::string& what) {
  return {StatusCode::kInvalid, what + "; see collector/API.md"};
}

// Changes are made only to what the caller knows (RFC 9110, 13.1.1).
// Whether a request with the If-Match header `if_match` may change what has that entity tag; without the
// header it may.
bool IfMatchHolds(std::string_view if_match, std::string_view etag);

// The answer when it may not; `etag` is the tag of what is there now.
Response PreconditionFailed(std::string etag);

}  // namespace lagwatch::collector
