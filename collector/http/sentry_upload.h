// SPDX-License-Identifier: Apache-2.0
// POST /api/{project}/envelope/ and /store/: envelopes of Sentry's SDKs. Hangs are handled as our own
// reports, other items are counted and dropped. Context: background. Thread-safe.
#pragma once

#include <memory>

#include "collector/http/opened_body.h"
#include "collector/http/server/limited_log.h"
#include "collector/http/server/metrics.h"
#include "collector/http/server/request.h"
#include "collector/ingest/group_commit.h"
#include "collector/ingest/ingest.h"
#include "collector/keys/key_ring.h"
#include "collector/sentry/intake.h"

namespace lagwatch::collector {

class SentryUpload {
 public:
  enum class Body { kEnvelope, kEvent };

  // Borrows all; `commits` and `metrics` may be null. Without `commits` each request commits by itself.
  SentryUpload(Body body, const Ingest* ingest, GroupCommit* commits, KeyRing* keys, Metrics* metrics,
               const BodyLimits& limits)
      : body_(body), ingest_(ingest), commits_(commits), keys_(keys), metrics_(metrics), limits_(limits) {}

  void operator()(Request request, const Respond& respond) const;

 private:
  base::Result<SentryIntake> Take(const Request& request, const Envelope& envelope) const;
  void Charge(const KeyRecord& key, uint64_t sent_bytes, uint64_t reports) const;
  void Refuse(const base::Status& status, const Respond& respond) const;

  Body body_;
  const Ingest* ingest_;
  GroupCommit* commits_;
  KeyRing* keys_;
  Metrics* metrics_;
  BodyLimits limits_;
  std::shared_ptr<LimitedLog> log_ = std::make_shared<LimitedLog>();
};

}  // namespace lagwatch::collector
