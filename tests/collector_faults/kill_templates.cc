// SPDX-License-Identifier: Apache-2.0
#include "tests/collector_faults/kill_templates.h"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "base/clock.h"
#include "collector/ingest/ingest.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/store/older_schemas.h"

namespace lagwatch::faults {
namespace {

using namespace collector;

constexpr size_t kExpiredReports = 1'500;
constexpr size_t kKeptReports = 300;
constexpr int64_t kDayMs = 86'400'000;

std::vector<std::string> DrawBatches(uint64_t seed, int64_t begin_ms, size_t reports, Expected* expected) {
  KillTraffic traffic(seed, begin_ms, KillTraffic::Records::kHangs);
  std::vector<std::string> batches;
  while (traffic.expected().reports.size() < reports) batches.push_back(traffic.Next().body);
  batches.push_back(traffic.Rest().body);
  *expected = traffic.expected();
  return batches;
}

void FillCurrent(const std::string& path, const std::vector<std::string>& batches) {
  auto store = SqliteStore::Open(path);
  if (!store.ok()) throw std::runtime_error(store.status().message());
  const Ingest ingest(store->get(), Clusterer::Create("").value());
  for (const std::string& batch : batches) {
    const auto result = ingest.Submit(batch);
    if (!result.ok()) throw std::runtime_error("a database cannot be filled: " + result.status().message());
    if (result->rejected != 0) throw std::runtime_error("a record of a template was refused");
  }
}

void AddOlderCluster(const Cluster& cluster, Database* database) {
  database->Use("INSERT OR IGNORE INTO clusters VALUES (?, ?, NULLIF(?, ''), ?, ?)")
      .Bind(cluster.key, int64_t{cluster.level}, cluster.parent_key, NamesToJson(cluster.frames), cluster.via)
      .Run();
}

void AddOlderReport(std::string_view payload, const Clusterer& clusterer, Database* database) {
  const report::Report report = report::DecodeReport(payload).value();
  const ClusterPath clusters = clusterer.Assign(report);
  for (const Cluster& cluster : clusters) AddOlderCluster(cluster, database);
  const ReportRow row = NewReport::Create(report, clusters, payload).row;
  database
      ->Use(
          "INSERT INTO reports (id, lag_id, session_id, ordinal, app, version, user, kind, loop, tag, os,"
          " machine, pid, tid, threshold_ms, start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns,"
          " cpu_process_ns, level1, level2, payload, sample_rate_ppm, cause)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{row.id.as_bytes()}, Blob{row.hang_id.as_bytes()}, Blob{row.session_id.as_bytes()},
            row.ordinal, row.app, row.version, row.user, row.kind, row.loop, row.tag, row.os, row.machine,
            row.pid, row.tid, row.threshold_ms, row.start_wall_ms, row.elapsed_ns, row.cpu_window_ns,
            row.cpu_thread_ns, row.cpu_process_ns, clusters[0].key, clusters[1].key, Blob{payload},
            row.sample_rate_ppm, row.cause)
      .Run();
}

// As version 5 of the schema had them.
void FillOlder(const std::string& path, const std::vector<std::string>& batches) {
  const Clusterer clusterer = Clusterer::Create("").value();
  Database database(path);
  for (const char* schema : {kSchemaOfReports, kSchemaOfRunEnds, kSchemaOfFrameSlices, kSchemaOfUsage,
                             kSchemaOfSampling, kSchemaOfUnknownRecords}) {
    database.Execute(schema);
  }
  Transaction transaction(&database);
  for (const std::string& batch : batches) {
    const std::vector<report::Record> records = report::SplitBatch(batch).value();
    for (const report::Record& record : records) {
      if (record.type == report::RecordType::kReport) {
        AddOlderReport(record.payload, clusterer, &database);
      } else {
        const report::HangEnd end = report::DecodeHangEnd(record.payload).value();
        database.Use("INSERT INTO lag_ends VALUES (?, ?)")
            .Bind(Blob{end.report_id.as_bytes()}, static_cast<int64_t>(end.duration_ns))
            .Run();
      }
    }
  }
  database.Execute("PRAGMA user_version = 5");
  transaction.Commit();
}

int64_t MeasureMigrationUs(const std::string& older, const std::string& copy) {
  std::filesystem::copy_file(older, copy);
  const auto begin = std::chrono::steady_clock::now();
  if (auto store = SqliteStore::Open(copy); !store.ok()) throw std::runtime_error(store.status().message());
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

KillTemplates::KillTemplates() : expired_day_(base::SystemClock().WallMs() / kDayMs - kRetentionDays - 1) {
  const auto expired = DrawBatches(1, expired_day_ * kDayMs + kDayMs / 2, kExpiredReports, &expired_);
  const auto kept = DrawBatches(2, (expired_day_ + 4) * kDayMs + kDayMs / 2, kKeptReports, &kept_);
  for (const auto* batches : {&expired, &kept}) FillCurrent(current(), *batches);
  std::vector<std::string> all = expired;
  all.insert(all.end(), kept.begin(), kept.end());
  FillOlder(older(), all);
  migration_us_ = MeasureMigrationUs(older(), directory_ / "migrated.db");
}

}  // namespace lagwatch::faults
