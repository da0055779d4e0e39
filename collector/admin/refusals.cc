// SPDX-License-Identifier: Apache-2.0
#include "collector/admin/refusals.h"

#include <utility>

#include "base/text.h"

namespace lagwatch::collector {

bool IfMatchHolds(std::string_view if_match, std::string_view etag) {
  if (if_match.empty()) return true;
  while (!if_match.empty()) {
    const std::string_view tag = base::Trimmed(base::TakeUntil(',', &if_match));
    if (tag == "*" || tag == etag) return true;
  }
  return false;
}

Response PreconditionFailed(std::string etag) {
  Response response = ErrorResponse(
      412, "precondition_failed", "it was changed since you looked at it; look at it again, then change it");
  response.etag = std::move(etag);
  return response;
}

}  // namespace lagwatch::collector
