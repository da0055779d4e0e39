// SPDX-License-Identifier: Apache-2.0
#include "collector/admin/refusals.h"

#include <algorithm>
#include <utility>

namespace lagwatch::collector {

bool IfMatchHolds(std::string_view if_match, std::string_view etag) {
  if (if_match.empty()) return true;
  for (size_t begin = 0; begin <= if_match.size();) {
    const size_t end = std::min(if_match.find(',', begin), if_match.size());
    std::string_view tag = if_match.substr(begin, end - begin);
    tag.remove_prefix(std::min(tag.find_first_not_of(" \t"), tag.size()));
    tag = tag.substr(0, tag.find_last_not_of(" \t") + 1);
    if (tag == "*" || tag == etag) return true;
    begin = end + 1;
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
