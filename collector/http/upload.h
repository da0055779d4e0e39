// SPDX-License-Identifier: Apache-2.0
// POST /v1/reports: opens a batch, stores it and answers with the results. Context: background. Thread-safe.
#pragma once

#include <memory>

#include "collector/config/config_service.h"
#include "collector/http/opened_body.h"
#include "collector/http/server/limited_log.h"
#include "collector/http/server/metrics.h"
#include "collector/http/server/request.h"
#include "collector/ingest/group_commit.h"
#include "collector/ingest/ingest.h"
#include "collector/keys/key_ring.h"

namespace lagwatch::collector {

class Upload {
 public:
  // Borrows all; all but `ingest` may be null. Without `commits` each request commits by itself.
  Upload(const Ingest* ingest, GroupCommit* commits, ConfigService* config, KeyRing* keys, Metrics* metrics,
         const BodyLimits& limits)
      : ingest_(ingest),
        commits_(commits),
        config_(config),
        keys_(keys),
        metrics_(metrics),
        limits_(limits) {}

  void operator()(Request request, const Respond& respond) const;

 private:
  const Ingest* ingest_;
  GroupCommit* commits_;
  ConfigService* config_;
  KeyRing* keys_;
  Metrics* metrics_;
  BodyLimits limits_;
  std::shared_ptr<LimitedLog> log_ = std::make_shared<LimitedLog>();
};

}  // namespace lagwatch::collector
