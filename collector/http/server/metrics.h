// SPDX-License-Identifier: Apache-2.0
// The collector's metrics, in Prometheus' text format. Context: background. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/http/measures/hang_counts.h"
#include "collector/http/measures/process_use.h"
#include "collector/ingest/app_quota.h"
#include "collector/ingest/ingest.h"
#include "collector/keys/key_ring.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database_extent.h"

namespace lagwatch::collector {

struct SentryIntake;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // `path` is the endpoint's, not the request's, so that clients cannot add any; empty if the request was
  // refused before it had one.
  void CountAnswer(std::string_view path, int status, std::chrono::nanoseconds taken);
  void CountRecords(const IngestResult& result);
  // Items of Sentry's envelopes that are not taken, by type, events by kind, and hangs by the evidence for
  // them.
  void CountSentryItems(const SentryIntake& intake);
  void CountRefusedConnection();
  void SetConnections(uint64_t count);
  void SetBytesInFlight(uint64_t bytes);
  void SetKeylessBytesInFlight(uint64_t bytes);
  void SetDiskFreeBytes(uint64_t bytes);
  void SetRefusedBatches(const RefusedBatches& batches);
  void SetSharing(const WeightLimits::Sharing& sharing);
  void SetAppQuotas(const std::map<std::string, AppQuota::Use, std::less<>>& uses);
  void SetStoreSize(const StoreSize& size, uint64_t most_bytes);
  // A day with so many reports was removed, because the store was too large.
  void CountQuotaRemoval(int64_t reports);

  // The program's version; once.
  void SetBuild(const std::string& version);
  void CountCommit(std::string_view part, std::chrono::nanoseconds taken);
  void CountStep(const std::string& job, bool is_ok, std::chrono::nanoseconds taken);
  void SetQueuedRecords(uint64_t records);
  void SetDamaged(bool is_damaged, uint64_t set_aside);
  void SetHangs(HangCounts* counts, int64_t now_wall_ms);
  void SetKeyQuotas(const std::vector<KeyUse>& uses);
  void SetProcess(const ProcessUse& use);

  std::string ToText() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector
