// SPDX-License-Identifier: Apache-2.0
// Changes that are made only to what the caller knows (RFC 9110, 13.1.1). Context: background; pure.
#pragma once

#include <string>
#include <string_view>

#include "collector/query/response.h"

namespace lagwatch::collector {

// Whether a request with the If-Match header `if_match` may change what has that entity tag; without the
// header it may.
bool IfMatchHolds(std::string_view if_match, std::string_view etag);

// The answer when it may not; `etag` is the tag of what is there now.
Response PreconditionFailed(std::string etag);

}  // namespace lagwatch::collector
