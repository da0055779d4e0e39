// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collector/store/schema.h"

namespace lagwatch::collector {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

#define LAGWATCH_REPORT_COLUMNS                                                                   \
  "id, lag_id, session_id, ordinal, app, version, user, kind, loop, tag, os, machine, pid, tid, " \
  "threshold_ms,"                                                                                 \
  " start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns, cpu_process_ns, level1, level2, duration_ns"
#define LAGWATCH_WHERE_FILTER                                  \
  " WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)" \
  " AND (?3 = '' OR level1 = ?3 OR level2 = ?3)"

int64_t ToSigned(uint64_t number) { return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX)); }

base::Uuid ReadUuid(const Statement& row, int column) {
  return base::TryUuidFromBytes(row.Bytes(column)).value_or(base::Uuid{});
}

ReportRow ReadReportRow(const Statement& row) {
  return {.id = ReadUuid(row, 0),
          .lag_id = ReadUuid(row, 1),
          .session_id = ReadUuid(row, 2),
          .ordinal = row.Int(3),
          .app = row.Text(4),
          .version = row.Text(5),
          .user = row.Text(6),
          .kind = row.Text(7),
          .loop = row.Text(8),
          .tag = row.Text(9),
          .os = row.Text(10),
          .machine = row.Text(11),
          .pid = row.Int(12),
          .tid = row.Int(13),
          .threshold_ms = row.Int(14),
          .start_wall_ms = row.Int(15),
          .elapsed_ns = row.Int(16),
          .cpu_window_ns = row.Int(17),
          .cpu_thread_ns = row.Int(18),
          .cpu_process_ns = row.Int(19),
          .level1_key = row.Text(20),
          .level2_key = row.Text(21),
          .duration_ns = row.OptionalInt(22)};
}

// A lag's first report gives the lag its id.
const base::Uuid& LagOf(const report::Report& report) {
  return report.lag_id == base::Uuid{} ? report.id : report.lag_id;
}

// Runs `work`, which may throw what SQLite says.
template <typename Work>
auto Guarded(Work work) -> Result<decltype(work())> {
  try {
    return work();
  } catch (const SqliteError& error) {
    return Status(StatusCode::kUnavailable, std::string("the database refuses: ") + error.what());
  }
}

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const std::string& path) {
  try {
    std::unique_ptr<Store> store(new Store(path));
    if (Status status = store->Migrate(); !status.ok()) {
      return Status(status.code(), "the database " + path + " " + status.message());
    }
    return store;
  } catch (const SqliteError& error) {
    return Status(StatusCode::kIo, "cannot open the database " + path + ": " + error.what());
  }
}

Status Store::Migrate() {
  database_.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  Transaction transaction(&database_);
  int64_t version = SchemaVersion();
  if (version > kSchemaVersion) {
    return {StatusCode::kInvalid, "was written by a newer lagwatch (schema " + std::to_string(version) +
                                      ", known here: " + std::to_string(kSchemaVersion) +
                                      "); update this collector or give another --data"};
  }
  if (version == 0) database_.Execute(kSchema);
  if (version <= 1) database_.Execute(kSchemaOfRunEnds);
  if (version <= 3) database_.Execute(kSchemaOfUsage);
  if (version != kSchemaVersion) {
    database_.Execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
  }
  transaction.Commit();
  return {};
}

int64_t Store::SchemaVersion() {
  Statement version = database_.Use("PRAGMA user_version");
  version.Step();
  return version.Int(0);
}

Result<CommitCounts> Store::Commit(std::span<const NewReport> reports, std::span<const report::LagEnd> ends,
                                   std::span<const report::RunEnd> run_ends,
                                   std::span<const NewUsage> usages) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    CommitCounts counts;
    Transaction transaction(&database_);
    for (const NewReport& report : reports) ++(InsertReport(report) ? counts.accepted : counts.duplicates);
    for (const report::LagEnd& end : ends) ++(InsertEnd(end) ? counts.accepted : counts.duplicates);
    for (const report::RunEnd& end : run_ends) ++(InsertRunEnd(end) ? counts.accepted : counts.duplicates);
    for (const NewUsage& usage : usages) ++(InsertUsage(usage) ? counts.accepted : counts.duplicates);
    transaction.Commit();
    return counts;
  });
}

bool Store::InsertReport(const NewReport& added) {
  for (const Cluster& cluster : added.clusters) InsertCluster(cluster);
  const report::Report& report = added.report;
  database_
      .Use("INSERT OR IGNORE INTO reports (" LAGWATCH_REPORT_COLUMNS
           ", payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{report.id.as_bytes()}, Blob{LagOf(report).as_bytes()}, Blob{report.session_id.as_bytes()},
            int64_t{report.ordinal}, report.app, report.app_version, report.user,
            report::KindName(report.kind), report.loop, report.tag, report.os, report.machine,
            int64_t{report.pid}, int64_t{report.tid}, int64_t{report.threshold_ms},
            ToSigned(report.start_wall_ms), ToSigned(report.elapsed_ns), ToSigned(report.cpu_window_ns),
            ToSigned(report.cpu_thread_ns), ToSigned(report.cpu_process_ns), added.clusters[0].key,
            added.clusters[1].key, std::optional<int64_t>(), Blob{added.payload})
      .Run();
  if (database_.changes() == 0) return false;
  JoinEnds(LagOf(report));
  return true;
}

bool Store::InsertEnd(const report::LagEnd& end) {
  database_.Use("INSERT OR IGNORE INTO lag_ends (report_id, duration_ns) VALUES (?, ?)")
      .Bind(Blob{end.report_id.as_bytes()}, ToSigned(end.duration_ns))
      .Run();
  if (database_.changes() == 0) return false;
  JoinEnds(LagOfReport(end.report_id));
  return true;
}

bool Store::InsertRunEnd(const report::RunEnd& end) {
  bool was_in_lag = end.report_id != base::Uuid{};
  database_
      .Use(
          "INSERT OR IGNORE INTO run_ends (session_id, reason, signal, report_id, lag_ns, loop,"
          " run_start_wall_ms, last_seen_wall_ms, scene, app, version, user)"
          " VALUES (?, ?, ?, NULLIF(?, x''), ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{end.session_id.as_bytes()}, policies::ExitReasonName(end.reason), int64_t{end.signal},
            Blob{was_in_lag ? end.report_id.as_bytes() : ""}, ToSigned(end.lag_ns), end.loop,
            ToSigned(end.run_start_wall_ms), ToSigned(end.last_seen_wall_ms), end.scene, end.app,
            end.app_version, end.user)
      .Run();
  if (database_.changes() == 0) return false;
  if (was_in_lag) JoinEnds(LagOfReport(end.report_id));
  return true;
}

bool Store::InsertUsage(const NewUsage& added) {
  const report::Usage& usage = added.usage;
  database_
      .Use(
          "INSERT OR IGNORE INTO usage (id, session_id, app, version, user, begin_wall_ms, end_wall_ms, "
          "payload)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{usage.id.as_bytes()}, Blob{usage.session_id.as_bytes()}, usage.app, usage.app_version,
            usage.user, ToSigned(usage.begin_wall_ms), ToSigned(usage.end_wall_ms), Blob{added.payload})
      .Run();
  return database_.changes() != 0;
}

Status Store::ForEachUsage(std::string_view app, std::string_view version, std::string_view user,
                           const std::function<void(std::string_view payload)>& visit) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
           Statement rows = database_.Use(
               "SELECT payload FROM usage WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)"
               " AND (?3 = '' OR user = ?3)");
           rows.Bind(app, version, user);
           while (rows.Step()) visit(rows.Bytes(0));
           return true;
         })
      .status();
}

// Itself, as long as the report is not there: it is then the first of its lag, or waits for its own.
base::Uuid Store::LagOfReport(const base::Uuid& report_id) {
  auto lag = database_.Use("SELECT lag_id FROM reports WHERE id = ?");
  lag.Bind(Blob{report_id.as_bytes()});
  return lag.Step() ? ReadUuid(lag, 0) : report_id;
}

void Store::InsertCluster(const Cluster& cluster) {
  // Names come from clients and may be no UTF-8.
  auto replace = nlohmann::json::error_handler_t::replace;
  std::string frames = nlohmann::json(cluster.frames).dump(-1, ' ', /*ensure_ascii=*/false, replace);
  database_
      .Use(
          "INSERT INTO clusters (key, level, parent, frames, via) VALUES (?, ?, NULLIF(?, ''), ?, ?)"
          " ON CONFLICT (key) DO UPDATE SET via = excluded.via WHERE via = '' AND excluded.via != ''")
      .Bind(cluster.key, int64_t{cluster.level}, cluster.parent_key, frames, cluster.via)
      .Run();
}

// The end of any report of a lag is the end of all of them; so is the end of the run that was killed in it.
void Store::JoinEnds(const base::Uuid& lag_id) {
  database_
      .Use(
          "UPDATE reports SET duration_ns = (SELECT max(duration_ns) FROM lag_ends WHERE report_id = ?1 OR"
          " report_id IN (SELECT id FROM reports WHERE lag_id = ?1)) WHERE lag_id = ?1")
      .Bind(Blob{lag_id.as_bytes()})
      .Run();
  auto kill = database_.Use(
      "SELECT max(lag_ns, (SELECT coalesce(max(elapsed_ns), 0) FROM reports WHERE lag_id = ?1)) FROM run_ends"
      " WHERE reason = 'killed-in-lag' AND (report_id = ?1 OR"
      " report_id IN (SELECT id FROM reports WHERE lag_id = ?1))");
  kill.Bind(Blob{lag_id.as_bytes()});
  if (!kill.Step()) return;
  database_
      .Use(
          "UPDATE reports SET duration_ns = ?2, kind = 'killed-in-hang'"
          " WHERE lag_id = ?1 AND duration_ns IS NULL")
      .Bind(Blob{lag_id.as_bytes()}, kill.Int(0))
      .Run();
}

Result<std::optional<RunEndRow>> Store::FindRunEnd(const base::Uuid& session_id) {
  std::lock_guard lock(mutex_);
  return Guarded([&]() -> std::optional<RunEndRow> {
    Statement row = database_.Use(
        "SELECT reason, signal, coalesce(report_id, x''), lag_ns, loop, run_start_wall_ms, last_seen_wall_ms,"
        " scene, app, version, user FROM run_ends WHERE session_id = ?");
    row.Bind(Blob{session_id.as_bytes()});
    if (!row.Step()) return std::nullopt;
    return RunEndRow{.reason = row.Text(0),
                     .signal = row.Int(1),
                     .report_id = ReadUuid(row, 2),
                     .lag_ns = row.Int(3),
                     .loop = row.Text(4),
                     .run_start_wall_ms = row.Int(5),
                     .last_seen_wall_ms = row.Int(6),
                     .scene = row.Text(7),
                     .app = row.Text(8),
                     .version = row.Text(9),
                     .user = row.Text(10)};
  });
}

Result<std::vector<ReportRow>> Store::Reports(const ReportFilter& filter, int64_t limit) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    std::vector<ReportRow> reports;
    Statement rows = database_.Use("SELECT " LAGWATCH_REPORT_COLUMNS " FROM reports" LAGWATCH_WHERE_FILTER
                                   " ORDER BY id DESC LIMIT ?4");
    rows.Bind(filter.app, filter.version, filter.cluster_key, limit);
    while (rows.Step()) reports.push_back(ReadReportRow(rows));
    return reports;
  });
}

Status Store::ForEachReport(const ReportFilter& filter, const std::function<void(const ReportRow&)>& visit) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
           Statement rows =
               database_.Use("SELECT " LAGWATCH_REPORT_COLUMNS " FROM reports" LAGWATCH_WHERE_FILTER);
           rows.Bind(filter.app, filter.version, filter.cluster_key);
           while (rows.Step()) visit(ReadReportRow(rows));
           return true;
         })
      .status();
}

Result<std::optional<StoredReport>> Store::FindReport(const base::Uuid& id) {
  std::lock_guard lock(mutex_);
  return Guarded([&]() -> std::optional<StoredReport> {
    Statement row = database_.Use("SELECT " LAGWATCH_REPORT_COLUMNS ", payload FROM reports WHERE id = ?");
    row.Bind(Blob{id.as_bytes()});
    if (!row.Step()) return std::nullopt;
    return StoredReport{ReadReportRow(row), row.Bytes(23)};
  });
}

Result<std::vector<base::Uuid>> Store::FindIds(const base::Uuid& first, const base::Uuid& last,
                                               int64_t limit) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    std::vector<base::Uuid> ids;
    Statement rows = database_.Use("SELECT id FROM reports WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?");
    rows.Bind(Blob{first.as_bytes()}, Blob{last.as_bytes()}, limit);
    while (rows.Step()) ids.push_back(ReadUuid(rows, 0));
    return ids;
  });
}

Result<std::map<std::string, Cluster>> Store::Clusters() {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    std::map<std::string, Cluster> clusters;
    Statement rows = database_.Use("SELECT key, level, coalesce(parent, ''), frames, via FROM clusters");
    while (rows.Step()) {
      Cluster cluster{rows.Text(0), static_cast<int>(rows.Int(1)), rows.Text(2),
                      nlohmann::json::parse(rows.Text(3)), rows.Text(4)};
      clusters.emplace(cluster.key, std::move(cluster));
    }
    return clusters;
  });
}

}  // namespace lagwatch::collector
