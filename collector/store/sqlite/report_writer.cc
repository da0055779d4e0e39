// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/report_writer.h"

#include <algorithm>

#include "collector/store/sqlite/database/columns.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMostKnownClusters = 200'000;
// A hang's time is divided among so many of its reports, those stored first, and its first one; others have
// no part of it. A client reports a hang that goes on for hours once a minute at most.
constexpr int64_t kMostReportsOfAHang = 256;

}  // namespace

#define LAGWATCH_KNOWN                                                                                  \
  "SELECT row, reports.id, level1, level2, segment, cause, start_wall_ms, kind, user, sample_rate_ppm," \
  " elapsed_ns, ordinal, end_ns, duration_ns, hang_ns, is_lead, is_blamed, session_id FROM reports"     \
  " JOIN segments ON segments.id = segment"

struct ReportWriter::StoredShare {
  int64_t row = 0;
  base::Uuid id;
  ReportPlace place;
  int64_t start_wall_ms = 0;
  std::string kind;
  std::string user;
  int64_t sample_rate_ppm = 0;
  int64_t elapsed_ns = 0;
  int64_t ordinal = 0;
  std::optional<int64_t> end_ns;
  std::optional<int64_t> duration_ns;
  bool is_blamed = false;
  policies::HangShare share;

  // A row of LAGWATCH_KNOWN.
  static StoredShare Read(const Statement& row) {
    StoredShare known;
    known.row = row.Int(0);
    known.id = row.Id(1);
    known.place = {.clusters = {row.Int(2), row.Int(3)},
                   .segment = row.Int(4),
                   .day = DayOf(known.id),
                   .cause = row.Int(5)};
    known.start_wall_ms = row.Int(6);
    known.kind = row.Text(7);
    known.user = CountedUser(row.Text(8), row.Id(17));
    known.sample_rate_ppm = row.Int(9);
    known.elapsed_ns = row.Int(10);
    known.ordinal = row.Int(11);
    known.end_ns = row.OptionalInt(12);
    known.duration_ns = row.OptionalInt(13);
    known.share = {row.Int(14), row.Int(15) != 0};
    known.is_blamed = row.Int(16) != 0;
    return known;
  }

  Contribution ToContribution() const {
    return {.hangs = share.is_lead ? 1 : 0,
            .hang_ns = share.hang_ns,
            .duration_ns = duration_ns.value_or(elapsed_ns),
            .weight = WeightOf(sample_rate_ppm),
            .seen_ms = start_wall_ms,
            .user = user};
  }
};

CommitOutcome ReportWriter::Insert(const NewReport& added, int64_t sender) {
  const ReportRow& row = added.row;
  const int64_t level1 = ClusterId(added.clusters[0], 0);
  const int64_t level2 = ClusterId(added.clusters[1], level1);
  const auto early_end = TakeEarlyEnd(row.id);
  const std::optional<int64_t> end_ns = early_end ? std::optional(early_end->duration_ns) : std::nullopt;
  const bool is_hang = IsHang(row.kind);
  policies::HangAccount account{.duration_ns = end_ns, .was_killed = false, .shares = {{}}};
  if (is_hang) {
    account = policies::AccountHang(std::vector<policies::HangReport>{{.elapsed_ns = row.elapsed_ns,
                                                                       .ordinal = row.ordinal,
                                                                       .end_ns = end_ns,
                                                                       .killed_ns = KilledNs(row.id)}});
  }
  const bool has_part = row.hang_id == row.id || HasRoom(row.hang_id);
  const policies::HangShare share = has_part ? account.shares.front() : policies::HangShare{};
  const std::string kind(account.was_killed ? policies::HangKindName(report::HangKind::kKilledInHang)
                                            : row.kind);
  const ReportPlace place{.clusters = {level1, level2},
                          .segment = SegmentId({row.app, row.version, kind, row.verdict, row.loop, row.os}),
                          .day = DayOf(row.id),
                          .cause = row.cause};
  static const std::string sql =
      InsertColumns("INSERT OR IGNORE INTO reports", kReportColumns,
                    "segment, level1, level2, end_ns, duration_ns, hang_ns, is_lead, sender, is_blamed");
  {
    Statement added_row = database_->Use(sql.c_str());
    BindRecord(row, kReportColumns, &added_row);
    added_row
        .Bind(place.segment, level1, level2, end_ns, account.duration_ns, share.hang_ns,
              int64_t{share.is_lead}, sender, int64_t{early_end && early_end->is_blamed})
        .Run();
  }
  if (database_->changes() == 0) return CommitOutcome::kDuplicate;
  const int64_t report = database_->last_row();
  database_->Use("INSERT INTO payloads (row, payload) VALUES (?, ?)").Bind(report, Blob{added.payload}).Run();
  for (const std::string& build_id : added.unnamed_builds) {
    database_->Use("INSERT INTO unnamed_builds (build_id, row) VALUES (?, ?)")
        .Bind(Blob{build_id}, report)
        .Run();
  }
  if (IsCounted(kind)) {
    const Contribution contribution{.hangs = share.is_lead ? 1 : 0,
                                    .hang_ns = share.hang_ns,
                                    .duration_ns = account.duration_ns.value_or(row.elapsed_ns),
                                    .weight = WeightOf(row.sample_rate_ppm),
                                    .seen_ms = row.start_wall_ms,
                                    .user = CountedUser(row.user, row.session_id)};
    sums_.Count(place, contribution, 1);
  }
  if (is_hang && has_part && HasSiblings(row)) hangs_.insert(row.hang_id.bytes);
  return CommitOutcome::kStored;
}

// Whether one more report has a part of the hang's time.
bool ReportWriter::HasRoom(const base::Uuid& hang_id) {
  auto last = database_->Use("SELECT 1 FROM reports WHERE lag_id = ? AND lag_id != id LIMIT 1 OFFSET ?");
  last.Bind(hang_id, kMostReportsOfAHang - 1);
  return !last.Step();
}

bool ReportWriter::HasSiblings(const ReportRow& row) {
  if (row.hang_id != row.id) return true;
  auto sibling = database_->Use("SELECT 1 FROM reports WHERE lag_id = ?1 AND lag_id != id LIMIT 1");
  sibling.Bind(row.id);
  return sibling.Step();
}

CommitOutcome ReportWriter::Insert(const report::HangEnd& end) {
  database_->Use("UPDATE reports SET end_ns = ?2, is_blamed = ?3 WHERE id = ?1 AND end_ns IS NULL")
      .Bind(end.report_id, ToSigned(end.duration_ns), int64_t{end.is_blamed})
      .Run();
  if (database_->changes() != 0) {
    hangs_.insert(HangOfReport(end.report_id).bytes);
    return CommitOutcome::kStored;
  }
  database_
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO early_ends (report_id, duration_ns, is_blamed)
            SELECT ?1, ?2, ?3
            WHERE NOT EXISTS (SELECT 1 FROM reports WHERE id = ?1)
          )sql")
      .Bind(end.report_id, ToSigned(end.duration_ns), int64_t{end.is_blamed})
      .Run();
  return database_->changes() != 0 ? CommitOutcome::kStored : CommitOutcome::kDuplicate;
}

void ReportWriter::NoteKilled(const base::Uuid& report_id) { hangs_.insert(HangOfReport(report_id).bytes); }

void ReportWriter::NoteUnkilled(const base::Uuid& report_id) {
  NoteKilled(report_id);
  has_removed_ = true;
}

void ReportWriter::Finish() {
  for (const auto& bytes : hangs_) Account(base::Uuid{bytes});
  hangs_.clear();
  has_removed_ = false;
  sums_.Write(database_);
  if (cluster_ids_.size() > kMostKnownClusters) cluster_ids_.clear();
}

void ReportWriter::Forget() {
  sums_.Forget();
  hangs_.clear();
  has_removed_ = false;
  ForgetIds();
}

void ReportWriter::ForgetIds() {
  cluster_ids_.clear();
  segment_ids_.clear();
}

int64_t ReportWriter::ClusterId(const Cluster& cluster, int64_t parent) {
  const auto known = cluster_ids_.find(cluster.key);
  if (known != cluster_ids_.end()) return known->second;
  const std::string frames = NamesToJson(cluster.frames);
  const std::string held_by = NamesToJson(cluster.held_by);
  auto added = database_->Use(
      R"sql(
        INSERT INTO clusters (key, level, parent, frames, via, held_by)
        VALUES (?, ?, NULLIF(?, 0), ?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET via = iif(via = '', excluded.via, via)
        RETURNING id
      )sql");
  added.Bind(cluster.key, int64_t{cluster.level}, parent, frames, cluster.via, held_by);
  added.Step();
  const int64_t id = added.Int(0);
  cluster_ids_.emplace(cluster.key, id);
  return id;
}

int64_t ReportWriter::SegmentId(const SegmentKey& key) {
  const auto known = segment_ids_.find(key);
  if (known != segment_ids_.end()) return known->second;
  const auto& [app, version, kind, verdict, loop, os] = key;
  auto added = database_->Use(
      R"sql(
        INSERT INTO segments (app, version, kind, verdict, loop, os)
        VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET app = app
        RETURNING id
      )sql");
  added.Bind(app, version, kind, verdict, loop, os);
  added.Step();
  const int64_t id = added.Int(0);
  if (segment_ids_.size() > kMostKnownClusters) segment_ids_.clear();
  segment_ids_.emplace(key, id);
  return id;
}

std::optional<report::HangEnd> ReportWriter::TakeEarlyEnd(const base::Uuid& report_id) {
  auto taken = database_->Use("DELETE FROM early_ends WHERE report_id = ? RETURNING duration_ns, is_blamed");
  taken.Bind(report_id);
  if (!taken.Step()) return std::nullopt;
  const report::HangEnd end{
      .report_id = report_id, .duration_ns = taken.Int(0), .is_blamed = taken.Int(1) != 0};
  taken.Run();
  return end;
}

std::optional<int64_t> ReportWriter::KilledNs(const base::Uuid& report_id) {
  auto killed = database_->Use(
      "SELECT lag_ns FROM run_ends WHERE report_id = ? AND reason IN ('killed-in-hang', 'killed-in-lag')");
  killed.Bind(report_id);
  return killed.Step() ? std::optional(killed.Int(0)) : std::nullopt;
}

// Itself, as long as the report is not there: it is then the first of its hang, or waits for its own.
base::Uuid ReportWriter::HangOfReport(const base::Uuid& report_id) {
  auto hang = database_->Use("SELECT lag_id FROM reports WHERE id = ?");
  hang.Bind(report_id);
  return hang.Step() ? hang.Id(0) : report_id;
}

std::vector<ReportWriter::StoredShare> ReportWriter::ReportsOfHang(const base::Uuid& hang_id) {
  std::vector<StoredShare> reports;
  auto rows = database_->Use(LAGWATCH_KNOWN
                             R"sql(
                               WHERE row IN (
                                 SELECT row
                                 FROM reports
                                 WHERE id = ?1
                                 UNION ALL
                                 SELECT row
                                 FROM (
                                   SELECT row
                                   FROM reports
                                   WHERE lag_id = ?1 AND lag_id != id
                                   ORDER BY row
                                   LIMIT ?2
                                 )
                               )
                             )sql");
  rows.Bind(hang_id, kMostReportsOfAHang);
  while (rows.Step()) reports.push_back(StoredShare::Read(rows));
  return reports;
}

void ReportWriter::Move(const Reclustered& moved) {
  std::optional<StoredShare> known;
  {
    auto row = database_->Use(LAGWATCH_KNOWN " WHERE reports.id = ?");
    row.Bind(moved.id);
    if (row.Step()) known = StoredShare::Read(row);
  }
  if (!known) return;
  if (!moved.named_build.empty()) {
    database_->Use("DELETE FROM unnamed_builds WHERE build_id = ? AND row = ?")
        .Bind(Blob{moved.named_build}, known->row)
        .Run();
  }
  ReportPlace place = known->place;
  place.clusters[0] = ClusterId(moved.clusters[0], 0);
  place.clusters[1] = ClusterId(moved.clusters[1], place.clusters[0]);
  if (place.clusters == known->place.clusters) return;
  database_->Use("UPDATE reports SET level1 = ?2, level2 = ?3 WHERE row = ?1")
      .Bind(known->row, place.clusters[0], place.clusters[1])
      .Run();
  if (!IsCounted(known->kind)) return;
  sums_.Count(known->place, known->ToContribution(), -1);
  sums_.Count(place, known->ToContribution(), 1);
  NoteShrunk(known->place);
}

void ReportWriter::NoteShrunk(const ReportPlace& place) {
  for (int64_t cluster : place.clusters)
    database_->Use("INSERT OR IGNORE INTO shrunk_clusters (cluster) VALUES (?)").Bind(cluster).Run();
}

int64_t ReportWriter::RemoveBefore(const base::Uuid& end, int64_t limit) {
  const std::vector<StoredShare> reports =
      database_->Use(LAGWATCH_KNOWN " WHERE reports.id < ? ORDER BY reports.id LIMIT ?")
          .Bind(end, limit)
          .All(StoredShare::Read);
  for (const StoredShare& report : reports) TakeOut(report);
  return static_cast<int64_t>(reports.size());
}

int64_t ReportWriter::Remove(const base::Uuid& id) {
  std::optional<StoredShare> known;
  {
    auto row = database_->Use(LAGWATCH_KNOWN " WHERE reports.id = ?");
    row.Bind(id);
    if (row.Step()) known = StoredShare::Read(row);
  }
  if (!known) return 0;
  hangs_.insert(HangOfReport(id).bytes);
  has_removed_ = true;
  TakeOut(*known);
  return 1;
}

void ReportWriter::TakeOut(const StoredShare& known) {
  database_->Use("DELETE FROM unnamed_builds WHERE row = ?").Bind(known.row).Run();
  database_->Use("DELETE FROM payloads WHERE row = ?").Bind(known.row).Run();
  database_->Use("DELETE FROM reports WHERE row = ?").Bind(known.row).Run();
  if (!IsCounted(known.kind)) return;
  sums_.Count(known.place, known.ToContribution(), -1);
  NoteShrunk(known.place);
  NoteTotalsShrunk(known.place);
}

void ReportWriter::NoteTotalsShrunk(const ReportPlace& place) {
  for (const auto& [segment, day] : {std::pair(int64_t{0}, int64_t{0}), std::pair(place.segment, int64_t{0}),
                                     std::pair(int64_t{0}, place.day)}) {
    database_->Use("INSERT OR IGNORE INTO shrunk_totals (segment, day) VALUES (?, ?)")
        .Bind(segment, day)
        .Run();
  }
}

int64_t ReportWriter::Repair(int64_t limit) {
  std::vector<int64_t> clusters;
  {
    auto rows = database_->Use(
        R"sql(
          DELETE FROM shrunk_clusters
          WHERE cluster IN (SELECT cluster FROM shrunk_clusters LIMIT ?)
          RETURNING cluster
        )sql");
    rows.Bind(limit);
    while (rows.Step()) clusters.push_back(rows.Int(0));
  }
  if (clusters.empty()) return RepairTotals(std::min<int64_t>(limit, 1));
  for (int64_t cluster : clusters) RepairCluster(cluster);
  return static_cast<int64_t>(clusters.size());
}

// Those of all reports are added up from clusters of level 1, once these are right. One at a time: there may
// be tens of thousands of clusters.
int64_t ReportWriter::RepairTotals(int64_t limit) {
  std::optional<std::pair<int64_t, int64_t>> total;
  {
    auto row = database_->Use("SELECT segment, day FROM shrunk_totals LIMIT ?");
    row.Bind(limit);
    if (row.Step()) total.emplace(row.Int(0), row.Int(1));
  }
  if (!total) return 0;
  RepairTotal(database_, total->first, total->second);
  database_->Use("DELETE FROM shrunk_totals WHERE segment = ? AND day = ?")
      .Bind(total->first, total->second)
      .Run();
  return 1;
}

void ReportWriter::RepairCluster(int64_t cluster) {
  database_->Use("DELETE FROM cluster_sums WHERE cluster = ?").Bind(cluster).Run();
  for (const char* sql : {LAGWATCH_KNOWN " WHERE level1 = ?", LAGWATCH_KNOWN " WHERE level2 = ?"}) {
    auto rows = database_->Use(sql);
    rows.Bind(cluster);
    while (rows.Step()) {
      const StoredShare known = StoredShare::Read(rows);
      if (IsCounted(known.kind)) sums_.CountIn(cluster, known.place, known.ToContribution());
    }
  }
  database_->Use("DELETE FROM cause_reports WHERE cluster = ? AND reports <= 0").Bind(cluster).Run();
  sums_.NoteRemade(cluster);
}

std::string ReportWriter::KindAsReported(int64_t row) {
  auto payload = database_->Use("SELECT payload FROM payloads WHERE row = ?");
  payload.Bind(row);
  const auto report = payload.Step() ? report::DecodeReport(payload.Bytes(0))
                                     : base::Status(base::StatusCode::kNotFound, "no payload");
  return std::string(policies::HangKindName(report.ok() ? report->kind : report::HangKind::kKilledInHang));
}

int64_t ReportWriter::SegmentWithKind(int64_t segment, std::string_view kind) {
  auto other = database_->Use(
      R"sql(
        INSERT INTO segments (app, version, kind, verdict, loop, os)
        SELECT app, version, ?2, verdict, loop, os
        FROM segments
        WHERE id = ?1
        ON CONFLICT DO UPDATE SET app = app
        RETURNING id
      )sql");
  other.Bind(segment, kind);
  other.Step();
  return other.Int(0);
}

void ReportWriter::Account(const base::Uuid& hang_id) {
  const std::vector<StoredShare> known = ReportsOfHang(hang_id);
  std::vector<policies::HangReport> reports;
  for (const StoredShare& report : known) {
    reports.push_back({.elapsed_ns = report.elapsed_ns,
                       .ordinal = report.ordinal,
                       .end_ns = report.end_ns,
                       .killed_ns = KilledNs(report.id),
                       .is_blamed = report.is_blamed});
  }
  const policies::HangAccount account = policies::AccountHang(reports);
  for (size_t i = 0; i < known.size(); ++i) Update(known[i], account, account.shares[i]);
}

void ReportWriter::Update(const StoredShare& known, const policies::HangAccount& account,
                          const policies::HangShare& share) {
  StoredShare updated = known;
  updated.duration_ns = account.duration_ns;
  if (IsHang(known.kind)) updated.share = share;
  const auto killed = policies::HangKindName(report::HangKind::kKilledInHang);
  if (account.was_killed && IsHang(known.kind)) {
    updated.place.segment = SegmentWithKind(known.place.segment, killed);
  } else if (known.kind == killed) {
    // Its own end has come after all; or the end of its run, or the report that this names, was removed.
    updated.place.segment = SegmentWithKind(known.place.segment, KindAsReported(known.row));
  }
  if (updated.duration_ns == known.duration_ns && updated.share == known.share &&
      updated.place.segment == known.place.segment) {
    return;
  }
  database_
      ->Use("UPDATE reports SET duration_ns = ?2, hang_ns = ?3, is_lead = ?4, segment = ?5 WHERE row = ?1")
      .Bind(known.row, updated.duration_ns, updated.share.hang_ns, int64_t{updated.share.is_lead},
            updated.place.segment)
      .Run();
  if (!IsCounted(known.kind)) return;
  sums_.Count(known.place, known.ToContribution(), -1);
  sums_.Count(updated.place, updated.ToContribution(), 1);
  const bool was_killed = known.kind == killed && updated.place.segment != known.place.segment;
  if (!has_removed_ && !was_killed) return;
  // It may have been the longest, or the last of its kind.
  NoteShrunk(known.place);
  NoteTotalsShrunk(known.place);
}

}  // namespace lagwatch::collector
