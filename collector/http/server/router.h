// SPDX-License-Identifier: Apache-2.0
// Authenticates requests and finds their endpoints; without sockets. Context: background. Thread-safe.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "collector/http/server/endpoint.h"
#include "collector/keys/key_ring.h"

namespace lagwatch::collector {

// A request whose head was found good; its body is still to come.
struct Admitted {
  const Endpoint* endpoint = nullptr;  // the router's
  Request request;
};

class Router {
 public:
  // Borrows `keys`, which must outlive this.
  Router(std::vector<Endpoint> endpoints, KeyRing* keys) : endpoints_(std::move(endpoints)), keys_(keys) {}

  // Or the answer to a request that is refused whatever its body holds.
  std::variant<Admitted, Response> Admit(const RequestHead& head) const;
  // Calls the handler; answers for it if it throws.
  static void Handle(const Endpoint& endpoint, Request request, const Respond& respond);
  // The answer to a body over its limit.
  static Response BodyTooLarge(uint64_t limit_bytes);

 private:
  const std::vector<Endpoint> endpoints_;
  KeyRing* const keys_;
};

}  // namespace lagwatch::collector
