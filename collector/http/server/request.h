// SPDX-License-Identifier: Apache-2.0
// A request on its way through the collector, without sockets. Context: background; pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "collector/http/server/budget.h"
#include "collector/keys/key_record.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// The network of an address, which one stranger may have as a whole: /24, or /48 of IPv6. Addresses are of 4
// bytes, or the first 8 of IPv6; the empty one is of all.
inline std::string NetworkOf(std::string_view peer) {
  return std::string(peer.substr(0, peer.size() == 4 ? 3 : 6));
}

// A request's head as it came; views are borrowed for the call.
struct RequestHead {
  std::string_view method;
  std::string_view target;  // path?query
  std::string_view authorization;
  std::string_view content_type;
  std::string_view content_encoding;
  std::optional<uint64_t> content_length = std::nullopt;
  std::string_view if_none_match = {};
  std::string_view if_match = {};
  std::string_view accept = {};
  std::string_view accept_encoding = {};
  std::string_view last_event_id = {};
  std::string_view sentry_auth = {};  // X-Sentry-Auth
  std::string_view peer = {};         // as Request has it
};

// A request that was let in, as its handler gets it.
struct Request {
  std::string path;
  std::string item;  // the part of the path that matches {…} in the endpoint's
  std::string query;
  std::string if_none_match;
  std::string if_match;
  bool accepts_gzip = false;
  std::string last_event_id;
  bool is_gzip = false;
  std::string body;
  KeyRecord key;             // the sender's; without a name if the head had none
  std::string peer;          // the address that it counts for; empty: all share one
  std::string address = {};  // the client's
  std::chrono::steady_clock::time_point begin = {};  // when its head had been read
  Budget::Share room;  // its share of the memory for requests, to be resized when it needs more
};

// Takes the answer to one request, from any thread; only the first counts. One that is never called
// keeps its connection.
using Respond = std::function<void(Response)>;
using Handler = std::function<void(Request, Respond)>;

}  // namespace lagwatch::collector
