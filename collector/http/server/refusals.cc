// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/refusals.h"

#include <string>

namespace lagwatch::collector {

Response NeedsAKey(const KeyCheck& check, KeyPlace place) {
  if (check.outcome == KeyCheck::Outcome::kExpired)
    return ErrorResponse(401, "unauthorized", "the key has expired; request a new one");
  return ErrorResponse(401, "unauthorized",
                       place == KeyPlace::kSentry
                           ? "the DSN needs one of this collector's project keys: http://KEY@host:port/1"
                           : "send the header 'Authorization: Bearer KEY' with one of this collector's keys");
}

Response MayNot(const KeyRecord& key) {
  const char* what = key.access == Access::kProject
                         ? "a project key can only send reports; use a read or admin token"
                     : key.access == Access::kRead ? "a read token can only read; use another key"
                                                   : "this key does not permit this";
  return ErrorResponse(403, "forbidden", what);
}

Response NoRoom(const base::Status& room) {
  constexpr int64_t kRetryS = 60;  // retention needs time
  Response response = ErrorResponse(room);
  response.retry_after_s = kRetryS;
  return response;
}

Response TooManyRequests(const QuotaRefusal& refusal, KeyPlace place) {
  Response response = ErrorResponse(429, "quota", refusal.reason + "; send the rest later");
  response.retry_after_s = refusal.wait_s;
  // Of everything, by this key.
  if (place == KeyPlace::kSentry) response.sentry_rate_limits = std::to_string(refusal.wait_s) + "::key";
  return response;
}

}  // namespace lagwatch::collector
