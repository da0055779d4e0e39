// SPDX-License-Identifier: Apache-2.0
// An answer of the collector's API: an HTTP status and, mostly, a JSON text. Context: background; pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

struct Response {
  int status = 200;
  std::string body;
  std::string allow = {};                              // the Allow header of a 405
  std::string etag = {};                               // the ETag header, with its quotes
  int64_t retry_after_s = 0;                           // the Retry-After header; 0: none
  std::string sentry_rate_limits = {};                 // the X-Sentry-Rate-Limits header
  std::string_view content_type = "application/json";  // a literal
  std::string_view content_encoding = {};              // likewise
  std::string_view cache_control = "no-store";         // likewise
  std::string_view security_policy = {};               // the Content-Security-Policy header, likewise
  std::string content_disposition = {};                // the Content-Disposition header
  // Makes the answer an endless stream: called now and then, by one thread at a time, for new events.
  std::function<std::string()> next_events = {};
};

// {"error":{"code":…,"message":…}}. The message says what to do.
Response ErrorResponse(int http_status, std::string_view code, std::string_view message);
// The same for a Status that is not ok.
Response ErrorResponse(const base::Status& status);

}  // namespace lagwatch::collector
