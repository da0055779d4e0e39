// SPDX-License-Identifier: Apache-2.0
// One entry of the collector's table of endpoints. Context: background; pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "collector/http/server/known_names.h"
#include "collector/http/server/request.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// Keys that an endpoint takes: Access bits; 0 asks for none.
using AccessMask = uint8_t;
constexpr AccessMask MaskOf(auto... access) {
  return static_cast<AccessMask>((0 | ... | static_cast<int>(access)));
}
inline constexpr AccessMask kEverybody = 0;
inline constexpr AccessMask kSenders = MaskOf(Access::kProject, Access::kAdmin);
inline constexpr AccessMask kReaders = MaskOf(Access::kRead, Access::kAdmin);
inline constexpr AccessMask kAnyKey = MaskOf(Access::kProject, Access::kRead, Access::kAdmin);
inline constexpr AccessMask kAdmins = MaskOf(Access::kAdmin);

// The place of a request's key.
enum class KeyPlace {
  kBearer,  // the Authorization header
  kSentry,  // the X-Sentry-Auth header or the query; where there is none, the handler looks for it in the
            // body
};

enum class RunsOn {
  kIo,       // the threads that read and write: a handler that does not wait
  kQueries,  // a pool of its own, so that a slow answer holds up no upload
  kParsers,  // another one, for bodies that take long to read: neither uploads nor answers wait for them
};

// The path of the endpoint that answers browsers where no other is.
inline constexpr std::string_view kNoSuchPage = "*";

struct Endpoint {
  std::string_view method;
  std::string_view path;  // may hold one {…}, which stands for letters, digits, dots, dashes and underscores
  AccessMask access = kAdmins;
  KeyPlace key_place = KeyPlace::kBearer;
  RunsOn runs_on = RunsOn::kQueries;
  Handler handler = {};
  uint64_t body_limit = 0;          // bytes as sent; 0: none is taken
  std::string_view body_type = {};  // its Content-Type; empty: any
  bool takes_gzip = false;
  bool is_metered = false;  // counts towards the key's quota
  // Whether there is room to store a body; asked before it is read. Empty: always.
  std::function<base::Status()> check_room = {};
  // Newer programs may send more than this collector knows, and get along with it.
  bool is_for_programs = false;
  // The parameters of the query, and the fields of a JSON body, that it knows; none: any (DeclareNames).
  std::optional<KnownNames> parameters = std::nullopt;
  std::optional<KnownNames> fields = std::nullopt;
};

// Endpoints whose handlers have their answers at once.
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
