// SPDX-License-Identifier: Apache-2.0
// Endpoints whose handlers have their answers at once. Context: background.
#pragma once

#include <string_view>
#include <utility>

#include "base/status.h"
#include "collector/http/server/endpoint.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

inline Response ToResponse(Response response) { return response; }
inline Response ToResponse(Result<Response> response) {
  return response.ok() ? std::move(response).value() : ErrorResponse(response.status());
}

// A handler that has its answer at once.
template <typename Answer>
Handler Answering(Answer answer) {
  return [answer](const Request& request, const Respond& respond) { respond(ToResponse(answer(request))); };
}

// An endpoint that only answers.
template <typename Answer>
Endpoint Getting(std::string_view path, AccessMask access, Answer answer, RunsOn runs_on = RunsOn::kQueries) {
  return {.method = "GET",
          .path = path,
          .access = access,
          .runs_on = runs_on,
          .handler = Answering(std::move(answer))};
}

}  // namespace lagwatch::collector
