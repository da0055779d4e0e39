// SPDX-License-Identifier: Apache-2.0
// What the collector answers to which HTTP request, without sockets. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/config/config_service.h"
#include "collector/http/api_keys.h"
#include "collector/ingest/ingest.h"
#include "collector/query/query_api.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// A request's head; views are borrowed for the call.
struct RequestHead {
  std::string_view method;
  std::string_view target;  // path?query
  std::string_view authorization;
  std::string_view content_type;
  std::string_view content_encoding;
  std::optional<uint64_t> content_length = std::nullopt;
  std::string_view if_none_match = {};
};

struct BodyLimits {
  uint64_t body_bytes = 1 << 20;      // as sent
  uint64_t inflated_bytes = 8 << 20;  // after decompression
};

class Router {
 public:
  // Borrows all three; without `config` there is no config for clients.
  Router(ApiKeys keys, BodyLimits limits, Ingest* ingest, const QueryApi* query_api,
         ConfigService* config = nullptr);

  // The answer to a request that is refused whatever its body holds; nothing when the body may be read.
  std::optional<Response> Refuse(const RequestHead& head) const;
  // The answer to a request that was not refused.
  Response Handle(const RequestHead& head, std::string body) const;
  // The answer to a body over the limit.
  Response BodyTooLarge() const;

  const BodyLimits& limits() const { return limits_; }

 private:
  Response HandleUpload(const RequestHead& head, std::string body) const;
  Response HandleConfig(const RequestHead& head) const;

  ApiKeys keys_;
  BodyLimits limits_;
  Ingest* ingest_;
  const QueryApi* query_api_;
  ConfigService* config_;
};

}  // namespace lagwatch::collector
