// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "collector/store/schema.h"

namespace lagwatch::collector {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

#define LAGWATCH_REPORT_COLUMNS                                                                            \
  "id, lag_id, session_id, ordinal, app, version, user, kind, loop, tag, os, machine, pid, tid, "          \
  "threshold_ms,"                                                                                          \
  " start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns, cpu_process_ns, level1, level2, duration_ns," \
  " sample_rate_ppm, cause"
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
          .duration_ns = row.OptionalInt(22),
          .sample_rate_ppm = row.Int(23),
          .cause = row.Int(24)};
}

// A lag's first report gives the lag its id.
const base::Uuid& LagOf(const report::Report& report) {
  return report.lag_id == base::Uuid{} ? report.id : report.lag_id;
}

CommitOutcome OutcomeOf(bool is_new) { return is_new ? CommitOutcome::kStored : CommitOutcome::kDuplicate; }

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
  if (version <= 2) database_.Execute(kSchemaOfFrameSlices);
  if (version <= 3) database_.Execute(kSchemaOfUsage);
  if (version <= 4) database_.Execute(kSchemaOfSampling);
  if (version <= 4) database_.Execute(kSchemaOfUnknownRecords);
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

Result<std::vector<CommitOutcome>> Store::Commit(std::span<const NewRecord> records) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    std::vector<CommitOutcome> outcomes;
    unknown_record_count_.reset();
    Transaction transaction(&database_);
    for (const NewRecord& record : records) {
      outcomes.push_back(std::visit([this](const auto& known) { return Insert(known); }, record));
    }
    transaction.Commit();
    return outcomes;
  });
}

CommitOutcome Store::Insert(const NewReport& added) {
  for (const Cluster& cluster : added.clusters) InsertCluster(cluster);
  const report::Report& report = added.report;
  database_
      .Use("INSERT OR IGNORE INTO reports (" LAGWATCH_REPORT_COLUMNS
           ", payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{report.id.as_bytes()}, Blob{LagOf(report).as_bytes()}, Blob{report.session_id.as_bytes()},
            int64_t{report.ordinal}, report.app, report.app_version, report.user,
            report::KindName(report.kind), report.loop, report.tag, report.os, report.machine,
            int64_t{report.pid}, int64_t{report.tid}, int64_t{report.threshold_ms},
            ToSigned(report.start_wall_ms), ToSigned(report.elapsed_ns), ToSigned(report.cpu_window_ns),
            ToSigned(report.cpu_thread_ns), ToSigned(report.cpu_process_ns), added.clusters[0].key,
            added.clusters[1].key, std::optional<int64_t>(), int64_t{report.sample_rate_ppm},
            static_cast<int64_t>(report.cause), Blob{added.payload})
      .Run();
  if (database_.changes() == 0) return CommitOutcome::kDuplicate;
  JoinEnds(LagOf(report));
  return CommitOutcome::kStored;
}

CommitOutcome Store::Insert(const report::LagEnd& end) {
  database_.Use("INSERT OR IGNORE INTO lag_ends (report_id, duration_ns) VALUES (?, ?)")
      .Bind(Blob{end.report_id.as_bytes()}, ToSigned(end.duration_ns))
      .Run();
  if (database_.changes() == 0) return CommitOutcome::kDuplicate;
  JoinEnds(LagOfReport(end.report_id));
  return CommitOutcome::kStored;
}

CommitOutcome Store::Insert(const report::RunEnd& end) {
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
  if (database_.changes() == 0) return CommitOutcome::kDuplicate;
  if (was_in_lag) JoinEnds(LagOfReport(end.report_id));
  return CommitOutcome::kStored;
}

CommitOutcome Store::Insert(const report::FrameSlice& slice) {
  const auto& levels = slice.frames.by_level;
  const auto& stages = slice.frames.by_stage_ns;
  static_assert(policies::kFrameLevels == 5 && policies::kFrameStages == 6);
  database_
      .Use(
          "INSERT OR IGNORE INTO frame_slices (id, session_id, app, version, user, loop, scene, "
          "begin_wall_ms,"
          " duration_ns, refresh_interval_ns, frames, dropped, best, normal, middle, high, frozen,"
          " other_ns, input_ns, animation_ns, layout_ns, draw_ns, submit_ns)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{slice.id.as_bytes()}, Blob{slice.session_id.as_bytes()}, slice.app, slice.app_version,
            slice.user, slice.loop, slice.scene, ToSigned(slice.begin_wall_ms), ToSigned(slice.duration_ns),
            ToSigned(slice.refresh_interval_ns), ToSigned(slice.frames.frames),
            ToSigned(slice.frames.dropped), ToSigned(levels[0]), ToSigned(levels[1]), ToSigned(levels[2]),
            ToSigned(levels[3]), ToSigned(levels[4]), ToSigned(stages[0]), ToSigned(stages[1]),
            ToSigned(stages[2]), ToSigned(stages[3]), ToSigned(stages[4]), ToSigned(stages[5]))
      .Run();
  return OutcomeOf(database_.changes() != 0);
}

CommitOutcome Store::Insert(const NewUsage& added) {
  const report::Usage& usage = added.usage;
  database_
      .Use(
          "INSERT OR IGNORE INTO usage (id, session_id, app, version, user, begin_wall_ms, end_wall_ms, "
          "payload)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(Blob{usage.id.as_bytes()}, Blob{usage.session_id.as_bytes()}, usage.app, usage.app_version,
            usage.user, ToSigned(usage.begin_wall_ms), ToSigned(usage.end_wall_ms), Blob{added.payload})
      .Run();
  return OutcomeOf(database_.changes() != 0);
}

CommitOutcome Store::Insert(const report::Losses& losses) {
  int64_t position = 0;
  bool is_new = false;
  for (const report::Loss& loss : losses.losses) {
    database_
        .Use(
            "INSERT OR IGNORE INTO losses (id, position, app, version, user, begin_wall_ms, end_wall_ms, "
            "reason,"
            " cause, count, sample_rate_ppm) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .Bind(Blob{losses.id.as_bytes()}, position++, losses.app, losses.app_version, losses.user,
              ToSigned(losses.begin_wall_ms), ToSigned(losses.end_wall_ms),
              report::LossReasonName(loss.reason), static_cast<int64_t>(loss.cause), ToSigned(loss.count),
              int64_t{loss.sample_rate_ppm})
        .Run();
    is_new |= database_.changes() != 0;
  }
  return OutcomeOf(is_new);
}

CommitOutcome Store::Insert(const UnknownRecord& record) {
  if (HasUnknownRecord(record)) return CommitOutcome::kDuplicate;
  if (!unknown_record_count_) unknown_record_count_ = CountUnknownRecords();
  if (*unknown_record_count_ >= kMaxUnknownRecords) return CommitOutcome::kNoRoom;
  database_.Use("INSERT INTO unknown_records (type, payload, received_wall_ms) VALUES (?, ?, ?)")
      .Bind(int64_t{Number(record.type)}, Blob{record.payload}, base::SystemClock().WallMs())
      .Run();
  ++*unknown_record_count_;
  return CommitOutcome::kStored;
}

int64_t Store::CountUnknownRecords() {
  Statement count = database_.Use("SELECT count(*) FROM unknown_records");
  count.Step();
  return count.Int(0);
}

bool Store::HasUnknownRecord(const UnknownRecord& record) {
  Statement found = database_.Use("SELECT 1 FROM unknown_records WHERE type = ? AND payload = ?");
  found.Bind(int64_t{Number(record.type)}, Blob{record.payload});
  return found.Step();
}

Status Store::ForEachUnknownRecord(const std::function<void(const UnknownRecord& record)>& visit) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
           Statement rows =
               database_.Use("SELECT type, payload FROM unknown_records ORDER BY received_wall_ms");
           while (rows.Step()) {
             const std::string payload = rows.Bytes(1);
             visit({static_cast<report::RecordType>(rows.Int(0)), payload});
           }
           return true;
         })
      .status();
}

Result<std::vector<LossRow>> Store::Losses(const ReportFilter& filter) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    std::vector<LossRow> losses;
    // total(): a float, which no client can make overflow.
    Statement rows = database_.Use(
        "SELECT app, version, reason, cause, CAST(total(count) AS INTEGER),"
        " CAST(total(count * CASE WHEN sample_rate_ppm = 0 OR reason = ?3 THEN 1 ELSE 1e6 / sample_rate_ppm "
        "END)"
        " * 1000 AS INTEGER)"
        " FROM losses WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)"
        " GROUP BY app, version, reason, cause ORDER BY 6 DESC");
    // Who is not sampled tells so for himself.
    rows.Bind(filter.app, filter.version, report::LossReasonName(report::LossReason::kNotSampled));
    while (rows.Step()) {
      losses.push_back({.app = rows.Text(0),
                        .version = rows.Text(1),
                        .reason = rows.Text(2),
                        .cause = rows.Int(3),
                        .count = rows.Int(4),
                        .weighted_count = static_cast<double>(rows.Int(5)) / 1000});
    }
    return losses;
  });
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

Result<std::vector<FrameSummary>> Store::Frames(const ReportFilter& filter, int64_t limit) {
  std::lock_guard lock(mutex_);
  return Guarded([&] {
    std::vector<FrameSummary> summaries;
    // total(): a float, which no client can make overflow.
    Statement rows = database_.Use(
        "SELECT app, version, loop, scene, count(*), count(DISTINCT NULLIF(user, '')),"
        " max(begin_wall_ms + duration_ns / 1000000),"
        " CAST(total(1.0 * refresh_interval_ns * frames) / max(total(frames), 1) AS INTEGER),"
        " CAST(total(frames) AS INTEGER), CAST(total(dropped) AS INTEGER),"
        " CAST(total(best) AS INTEGER), CAST(total(normal) AS INTEGER), CAST(total(middle) AS INTEGER),"
        " CAST(total(high) AS INTEGER), CAST(total(frozen) AS INTEGER),"
        " CAST(total(other_ns) AS INTEGER), CAST(total(input_ns) AS INTEGER),"
        " CAST(total(animation_ns) AS INTEGER), CAST(total(layout_ns) AS INTEGER),"
        " CAST(total(draw_ns) AS INTEGER), CAST(total(submit_ns) AS INTEGER)"
        " FROM frame_slices WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)"
        " GROUP BY app, version, loop, scene ORDER BY total(dropped) DESC, total(frames) DESC LIMIT ?3");
    rows.Bind(filter.app, filter.version, limit);
    while (rows.Step()) {
      FrameSummary summary{.app = rows.Text(0),
                           .version = rows.Text(1),
                           .loop = rows.Text(2),
                           .scene = rows.Text(3),
                           .slices = rows.Int(4),
                           .users = rows.Int(5),
                           .last_seen_ms = rows.Int(6),
                           .refresh_interval_ns = rows.Int(7),
                           .frames = {}};
      auto sum = [&](int column) { return static_cast<uint64_t>(rows.Int(column)); };
      summary.frames.frames = sum(8);
      summary.frames.dropped = sum(9);
      for (size_t i = 0; i < policies::kFrameLevels; ++i)
        summary.frames.by_level[i] = sum(10 + static_cast<int>(i));
      for (size_t i = 0; i < policies::kFrameStages; ++i)
        summary.frames.by_stage_ns[i] = sum(15 + static_cast<int>(i));
      summaries.push_back(std::move(summary));
    }
    return summaries;
  });
}

Result<std::optional<StoredReport>> Store::FindReport(const base::Uuid& id) {
  std::lock_guard lock(mutex_);
  return Guarded([&]() -> std::optional<StoredReport> {
    Statement row = database_.Use("SELECT " LAGWATCH_REPORT_COLUMNS ", payload FROM reports WHERE id = ?");
    row.Bind(Blob{id.as_bytes()});
    if (!row.Step()) return std::nullopt;
    return StoredReport{ReadReportRow(row), row.Bytes(25)};
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
