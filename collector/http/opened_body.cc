// SPDX-License-Identifier: Apache-2.0
#include "collector/http/opened_body.h"

#include <string>

#include "collector/ingest/inflate.h"

namespace lagwatch::collector {

Status OpenBody(const BodyLimits& limits, Request* request) {
  if (request->is_gzip) {
    request->body = LAGWATCH_TRY(InflateGzip(request->body, limits.inflated_bytes));
  } else if (request->body.size() > limits.inflated_bytes) {
    return {StatusCode::kTooLarge, "the body has more than " + std::to_string(limits.inflated_bytes) +
                                       " bytes; send fewer reports in one request"};
  }
  if (request->room.TryResize(request->body.size())) return {};
  return {StatusCode::kUnavailable, "the collector is overloaded; send the batch again later"};
}

}  // namespace lagwatch::collector
