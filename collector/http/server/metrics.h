// SPDX-License-Identifier: Apache-2.0
// The collector's metrics, in Prometheus' text format. Context: background. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collector/ingest/app_quota.h"
#include "collector/ingest/ingest.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database_extent.h"

namespace lagwatch::collector {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // `path` is the endpoint's, not the request's, so that clients cannot add any; empty if the request was
  // refused before it had one.
  void CountAnswer(std::string_view path, int status, std::chrono::nanoseconds taken);
  void CountRecords(const IngestResult& result);
  // Items of Sentry's envelopes that are not taken, by type.
  void CountSentryDrops(const std::map<std::string, uint64_t>& dropped);
  void CountRefusedConnection();
  void SetConnections(uint64_t count);
  void SetBytesInFlight(uint64_t bytes);
  void SetKeylessBytesInFlight(uint64_t bytes);
  void SetDiskFreeBytes(uint64_t bytes);
  void SetRefusedBatches(const RefusedBatches& batches);
  void SetAppQuotas(const std::map<std::string, AppQuota::Use, std::less<>>& uses);
  void SetStoreSize(const StoreSize& size, uint64_t most_bytes);
  // A day with so many reports was removed, because the store was too large.
  void CountQuotaRemoval(int64_t reports);

  std::string ToText() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector
