// SPDX-License-Identifier: Apache-2.0
#include "bench/ingest/sqlite_floor.h"

#include <chrono>
#include <random>

#include "base/clock.h"
#include "collector/cluster/clusterer.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/migration.h"
#include "report/format/report.h"

namespace lagwatch::bench {
namespace {

using collector::Blob;

struct Row {
  report::Report report;
  const std::string* payload;
  int64_t cluster;
};

}  // namespace

double SqliteRowsPerSecond(const std::string& directory, const std::vector<std::string>& real, size_t rows,
                           size_t rows_each) {
  collector::Database database(directory + "/floor.db");
  static_cast<void>(collector::Migrate(&database));
  database.Execute(
      "PRAGMA foreign_keys = OFF;"
      "INSERT INTO segments (app, version, kind, verdict, loop, os) VALUES ('', '', '', '', '', '')");
  std::vector<Row> made;
  for (const std::string& encoded : real) {
    made.push_back({report::DecodeReport(encoded).value(), &encoded, static_cast<int64_t>(made.size() + 1)});
  }
  std::mt19937_64 random(7);
  const auto begin = std::chrono::steady_clock::now();
  for (size_t done = 0; done < rows;) {
    collector::Transaction transaction(&database);
    for (size_t i = 0; i < rows_each && done < rows; ++i, ++done) {
      const Row& row = made[done % made.size()];
      const report::Report& report = row.report;
      const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
      const std::string user = "u-" + std::to_string(random() % 20'000);
      database
          .Use(
              "INSERT INTO reports (id, lag_id, session_id, ordinal, segment, user, tag, machine, pid, tid,"
              " threshold_ms, start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns, cpu_process_ns, "
              "level1,"
              " level2, end_ns, duration_ns, hang_ns, is_lead, sample_rate_ppm, cause)"
              " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
          .Bind(Blob{id.as_bytes()}, Blob{id.as_bytes()}, Blob{report.session_id.as_bytes()}, int64_t{0},
                int64_t{1}, user, report.tag, report.machine, int64_t{report.pid}, int64_t{report.tid},
                int64_t{report.threshold_ms}, static_cast<int64_t>(report.start_wall_ms),
                static_cast<int64_t>(report.elapsed_ns), static_cast<int64_t>(report.cpu_window_ns),
                static_cast<int64_t>(report.cpu_thread_ns), static_cast<int64_t>(report.cpu_process_ns),
                row.cluster, row.cluster, std::optional<int64_t>(), std::optional<int64_t>(),
                static_cast<int64_t>(report.elapsed_ns), int64_t{1}, int64_t{0}, int64_t{1})
          .Run();
      database.Use("INSERT INTO payloads (row, payload) VALUES (?, ?)")
          .Bind(database.last_row(), Blob{*row.payload})
          .Run();
    }
    transaction.Commit();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(rows) / seconds.count();
}

}  // namespace lagwatch::bench
