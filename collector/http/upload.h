// SPDX-License-Identifier: Apache-2.0
// The handlers of uploads, which open a batch, store it and answer with the results. Context: background.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "collector/config/config_service.h"
#include "collector/http/server/limited_log.h"
#include "collector/http/server/metrics.h"
#include "collector/http/server/request.h"
#include "collector/ingest/group_commit.h"
#include "collector/ingest/ingest.h"
#include "collector/keys/key_ring.h"

namespace lagwatch::collector {

struct BodyLimits {
  uint64_t body_bytes = 2 << 20;      // as sent: room for a trace and its report
  uint64_t inflated_bytes = 8 << 20;  // after decompression
};

// Replaces the body by its decompressed content, with as much room for it as it takes. Errors: those of
// InflateGzip; kUnavailable if there is no room for now.
base::Status OpenBody(const BodyLimits& limits, Request* request);

inline Sender SenderOf(const Request& request) {
  return {request.key.name, request.peer, NetworkOf(request.peer)};
}

// The parts that uploads use; all borrowed, and must outlive the handlers.
struct UploadParts {
  const Ingest* ingest = nullptr;
  GroupCommit* commits = nullptr;  // null: each request commits by itself
  KeyRing* keys = nullptr;
  Metrics* metrics = nullptr;  // null: nothing is counted
  BodyLimits limits = {};
  std::shared_ptr<LimitedLog> log = std::make_shared<LimitedLog>();
};

// For the log's line about a request that is answered with `status` now.
LogFacts FactsOf(const Request& request, int status);

// POST /v1/reports. `config` may be null.
Handler CreateUpload(UploadParts parts, ConfigService* config);

enum class SentryBody { kEnvelope, kEvent };

// POST /api/{project}/envelope/ and /store/: envelopes of Sentry's SDKs. Hangs are handled as our own
// reports, other items are counted and dropped.
Handler CreateSentryUpload(UploadParts parts, SentryBody body);

}  // namespace lagwatch::collector
