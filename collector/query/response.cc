// SPDX-License-Identifier: Apache-2.0
#include "collector/query/response.h"

#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

Response ErrorResponse(int http_status, std::string_view code, std::string_view message) {
  return {http_status, JsonText({{"error", {{"code", code}, {"message", message}}}})};
}

Response ErrorResponse(const base::Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalid:
      return ErrorResponse(400, "invalid", status.message());
    case StatusCode::kNotFound:
      return ErrorResponse(404, "not_found", status.message());
    case StatusCode::kUnauthorized:
      return ErrorResponse(401, "unauthorized", status.message());
    case StatusCode::kTooLarge:
      return ErrorResponse(413, "too_large", status.message());
    case StatusCode::kUnavailable:
      return ErrorResponse(503, "unavailable", status.message());
    default:
      return ErrorResponse(500, "internal", status.message());
  }
}

}  // namespace lagwatch::collector
