// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/report_writer.h"

#include <algorithm>

#include "base/clock.h"
#include "collector/store/sqlite/database/columns.h"
#include "collector/store/sqlite/stored_share.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMostKnownClusters = 200'000;
// A hang's time is divided among so many of its reports, those stored first, and its first one; others have
// no part of it. A client reports a hang that goes on for hours once a minute at most.
constexpr int64_t kMostReportsOfAHang = 256;

}  // namespace

CommitOutcome ReportWriter::Insert(const NewReport& added, int64_t sender, double capped_ns) {
  const ReportRow& row = added.row;
  const std::array<int64_t, 2> own_clusters = ClusterIds(added.clusters);
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
  const ReportPlace place{.clusters = has_part ? own_clusters : ClustersOfHang(row.hang_id),
                          .segment = SegmentId({row.app, row.version, kind, row.verdict, row.loop, row.os}),
                          .day = DayOf(row.id),
                          .cause = row.cause};
  static const std::string sql = InsertColumns(
      "INSERT OR IGNORE INTO reports", kReportColumns,
      "segment, level1, level2, end_ns, duration_ns, hang_ns, is_lead, sender, is_blamed, capped_ns");
  {
    Statement added_row = database_->Use(sql.c_str());
    BindRecord(row, kReportColumns, &added_row);
    added_row
        .Bind(place.segment, place.clusters[0], place.clusters[1], end_ns, account.duration_ns, share.hang_ns,
              int64_t{share.is_lead}, sender, int64_t{early_end && early_end->is_blamed}, capped_ns)
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
  if (is_hang && has_part && HasSiblings(row.id, row.hang_id)) {
    // It may be of another cause, so it is counted once the hang's reports are known.
    hangs_.insert(row.hang_id.bytes);
    uncounted_.insert(report);
  } else if (IsCounted(kind)) {
    const Contribution contribution{.hangs = share.is_lead ? 1 : 0,
                                    .hang_ns = share.hang_ns,
                                    .duration_ns = account.duration_ns.value_or(row.elapsed_ns),
                                    .weight = WeightOf(row.sample_rate_ppm),
                                    .seen_ms = row.start_wall_ms,
                                    .capped_ns = capped_ns,
                                    .user = CountedUser(row.user, row.session_id)};
    sums_.Count(place, contribution, 1);
  }
  return CommitOutcome::kStored;
}

// Whether one more report has a part of the hang's time.
bool ReportWriter::HasRoom(const base::Uuid& hang_id) {
  auto last = database_->Use("SELECT 1 FROM reports WHERE lag_id = ? AND lag_id != id LIMIT 1 OFFSET ?");
  last.Bind(hang_id, kMostReportsOfAHang - 1);
  return !last.Step();
}

bool ReportWriter::HasSiblings(const base::Uuid& id, const base::Uuid& hang_id) {
  if (hang_id != id) return true;
  auto sibling = database_->Use("SELECT 1 FROM reports WHERE lag_id = ?1 AND lag_id != id LIMIT 1");
  sibling.Bind(id);
  return sibling.Step();
}

// A report comes with its end, or soon after: what waits for longer waits for ever.
bool ReportWriter::HasRoomForEarlyEnd(int64_t sender) {
  constexpr int64_t kCountPauseMs = 10'000;
  WaitingEnds* waiting = &early_ends_[sender];
  const int64_t now_ms = base::SystemClock().WallMs();
  const bool is_known = waiting->counted_wall_ms != 0;
  const bool is_full = waiting->count >= kMostEarlyEnds;
  if (is_known && (!is_full || now_ms - waiting->counted_wall_ms < kCountPauseMs)) return !is_full;
  database_->Use("DELETE FROM early_ends WHERE report_id < ?").Bind(FirstIdAt(now_ms - 2 * kMsPerDay)).Run();
  auto count = database_->Use("SELECT count(*) FROM early_ends WHERE sender = ?");
  count.Bind(sender);
  count.Step();
  *waiting = {.count = count.Int(0), .counted_wall_ms = now_ms};
  return waiting->count < kMostEarlyEnds;
}

// The report's own sums, if they have it: that of a report which is not counted yet comes with it.
void ReportWriter::AddCapped(const base::Uuid& report_id, double capped_ns) {
  std::optional<StoredShare> known;
  {
    auto row = database_->Use(LAGWATCH_KNOWN " WHERE reports.id = ?");
    row.Bind(report_id);
    if (row.Step()) known = StoredShare::Read(row);
  }
  if (!known) return;
  database_->Use("UPDATE reports SET capped_ns = capped_ns + ? WHERE row = ?")
      .Bind(capped_ns, known->row)
      .Run();
  if (IsCounted(known->kind) && !uncounted_.contains(known->row))
    sums_.CountCapped(known->place, known->capped_ns > 0 ? 0 : 1, capped_ns);
}

CommitOutcome ReportWriter::Insert(const report::HangEnd& end, int64_t sender, double capped_ns) {
  database_->Use("UPDATE reports SET end_ns = ?2, is_blamed = ?3 WHERE id = ?1 AND end_ns IS NULL")
      .Bind(end.report_id, ToSigned(end.duration_ns), int64_t{end.is_blamed})
      .Run();
  if (database_->changes() != 0) {
    if (capped_ns > 0) AddCapped(end.report_id, capped_ns);
    hangs_.insert(HangOfReport(end.report_id).bytes);
    return CommitOutcome::kStored;
  }
  {
    auto known = database_->Use("SELECT 1 FROM reports WHERE id = ?");
    known.Bind(end.report_id);
    if (known.Step()) return CommitOutcome::kDuplicate;
  }
  if (!HasRoomForEarlyEnd(sender)) return CommitOutcome::kNoRoom;
  database_
      ->Use(
          "INSERT OR IGNORE INTO early_ends (report_id, duration_ns, is_blamed, sender) VALUES (?, ?, ?, ?)")
      .Bind(end.report_id, ToSigned(end.duration_ns), int64_t{end.is_blamed}, sender)
      .Run();
  if (database_->changes() == 0) return CommitOutcome::kDuplicate;
  ++early_ends_[sender].count;
  return CommitOutcome::kStored;
}

void ReportWriter::NoteHangOf(const base::Uuid& report_id) { hangs_.insert(HangOfReport(report_id).bytes); }

void ReportWriter::NoteUnkilled(const base::Uuid& report_id) {
  NoteHangOf(report_id);
  has_removed_ = true;
}

void ReportWriter::Finish() {
  for (const auto& bytes : hangs_) Account(base::Uuid{bytes});
  hangs_.clear();
  uncounted_.clear();
  has_removed_ = false;
  sums_.Write(database_);
  if (cluster_ids_.size() > kMostKnownClusters) cluster_ids_.clear();
}

void ReportWriter::Forget() {
  sums_.Forget();
  hangs_.clear();
  uncounted_.clear();
  has_removed_ = false;
  early_ends_.clear();
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

std::array<int64_t, 2> ReportWriter::ClusterIds(const ClusterPath& path) {
  const int64_t level1 = ClusterId(path[0], 0);
  return {level1, ClusterId(path[1], level1)};
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
  auto taken =
      database_->Use("DELETE FROM early_ends WHERE report_id = ? RETURNING duration_ns, is_blamed, sender");
  taken.Bind(report_id);
  if (!taken.Step()) return std::nullopt;
  const report::HangEnd end{
      .report_id = report_id, .duration_ns = taken.Int(0), .is_blamed = taken.Int(1) != 0};
  --early_ends_[taken.Int(2)].count;
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

std::array<int64_t, 2> ReportWriter::ClustersOfHang(const base::Uuid& hang_id) {
  auto part = database_->Use("SELECT level1, level2 FROM reports WHERE lag_id = ? AND lag_id != id LIMIT 1");
  part.Bind(hang_id);
  part.Step();
  return {part.Int(0), part.Int(1)};
}

std::vector<StoredShare> ReportWriter::ReportsOfHang(const base::Uuid& hang_id) {
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
  StoredShare updated = *known;
  updated.own_clusters = ClusterIds(moved.clusters);
  if (updated.own_clusters == known->own_clusters) return;
  const base::Uuid hang_id = HangOfReport(moved.id);
  if (IsHang(known->kind) && HasSiblings(moved.id, hang_id)) {
    hangs_.insert(hang_id.bytes);
  } else {
    updated.place.clusters = updated.own_clusters;
    NoteShrunk(known->place);
  }
  Store(*known, updated);
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

base::Result<report::Report> ReportWriter::AsReported(int64_t row) {
  auto payload = database_->Use("SELECT payload FROM payloads WHERE row = ?");
  payload.Bind(row);
  return payload.Step() ? report::DecodeReport(payload.Bytes(0))
                        : base::Status(base::StatusCode::kNotFound, "no payload");
}

std::string ReportWriter::KindAsReported(int64_t row) {
  const auto report = AsReported(row);
  return std::string(policies::HangKindName(report.ok() ? report->kind : report::HangKind::kKilledInHang));
}

int64_t ReportWriter::RateAsReported(const StoredShare& known) {
  auto capped = database_->Use("SELECT capped_ns FROM reports WHERE row = ?");
  capped.Bind(known.row);
  if (!capped.Step() || capped.Real(0) != 0) return known.sample_rate_ppm;
  const auto report = AsReported(known.row);
  return report.ok() ? report->sample_rate_ppm : known.sample_rate_ppm;
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
  if (known.empty()) return;
  std::vector<policies::HangReport> reports;
  for (const StoredShare& report : known) {
    reports.push_back({.elapsed_ns = report.elapsed_ns,
                       .ordinal = report.ordinal,
                       .end_ns = report.end_ns,
                       .killed_ns = KilledNs(report.id),
                       .is_blamed = report.is_blamed,
                       .sample_rate_ppm = has_removed_ ? RateAsReported(report) : report.sample_rate_ppm});
  }
  const policies::HangAccount account = policies::AccountHang(reports);
  const std::array<int64_t, 2> clusters = known[account.Lead()].own_clusters;
  const auto is_elsewhere = [&](const StoredShare& report) { return report.place.clusters != clusters; };
  if (known.size() >= kMostReportsOfAHang && std::ranges::any_of(known, is_elsewhere))
    MoveOthers(hang_id, clusters);
  for (size_t i = 0; i < known.size(); ++i) Update(known[i], account, account.shares[i], clusters);
}

// Reports that have no part of the hang's time go where those go that have one.
void ReportWriter::MoveOthers(const base::Uuid& hang_id, const std::array<int64_t, 2>& clusters) {
  const std::vector<StoredShare> others =
      database_
          ->Use(LAGWATCH_KNOWN " WHERE lag_id = ? AND lag_id != reports.id ORDER BY row LIMIT -1 OFFSET ?")
          .Bind(hang_id, kMostReportsOfAHang)
          .All(StoredShare::Read);
  for (const StoredShare& known : others) {
    StoredShare updated = known;
    updated.place.clusters = updated.own_clusters = clusters;
    Store(known, updated);
    NoteShrunkIfSmall(known.place);
  }
}

void ReportWriter::Update(const StoredShare& known, const policies::HangAccount& account,
                          const policies::HangShare& share, const std::array<int64_t, 2>& clusters) {
  StoredShare updated = known;
  updated.duration_ns = account.duration_ns;
  if (IsHang(known.kind)) {
    updated.share = share;
    updated.place.clusters = clusters;
    if (has_removed_ || WeightOf(account.sample_rate_ppm) < WeightOf(known.sample_rate_ppm))
      updated.sample_rate_ppm = account.sample_rate_ppm;
  }
  const auto killed = policies::HangKindName(report::HangKind::kKilledInHang);
  if (account.was_killed && IsHang(known.kind)) {
    updated.place.segment = SegmentWithKind(known.place.segment, killed);
  } else if (known.kind == killed) {
    // Its own end has come after all; or the end of its run, or the report that this names, was removed.
    updated.place.segment = SegmentWithKind(known.place.segment, KindAsReported(known.row));
  }
  if (!Store(known, updated)) return;
  const bool was_killed = known.kind == killed && updated.place.segment != known.place.segment;
  if (has_removed_ || was_killed) {
    // It may have been the longest, or the last of its kind.
    NoteShrunk(known.place);
    NoteTotalsShrunk(known.place);
  } else if (updated.place.clusters != known.place.clusters) {
    NoteShrunkIfSmall(known.place);
  }
}

bool ReportWriter::Store(const StoredShare& known, const StoredShare& updated) {
  const bool is_moved = updated.place.clusters != known.place.clusters;
  const bool is_changed = updated.duration_ns != known.duration_ns || updated.share != known.share ||
                          updated.place.segment != known.place.segment ||
                          updated.sample_rate_ppm != known.sample_rate_ppm;
  if (is_changed) {
    database_
        ->Use(
            R"sql(
              UPDATE reports
              SET duration_ns = ?2, hang_ns = ?3, is_lead = ?4, segment = ?5, sample_rate_ppm = ?6
              WHERE row = ?1
            )sql")
        .Bind(known.row, updated.duration_ns, updated.share.hang_ns, int64_t{updated.share.is_lead},
              updated.place.segment, updated.sample_rate_ppm)
        .Run();
  }
  if (is_moved || updated.own_clusters != known.own_clusters) {
    const auto& [level1, level2] = updated.place.clusters;
    const auto& [own1, own2] = updated.own_clusters;
    database_
        ->Use(
            R"sql(
              UPDATE reports
              SET level1 = ?2, level2 = ?3, own1 = nullif(?4, ?2), own2 = nullif(?5, ?3)
              WHERE row = ?1
            )sql")
        .Bind(known.row, level1, level2, own1, own2)
        .Run();
  }
  const bool is_counted = uncounted_.erase(known.row) == 0;
  if (!IsCounted(known.kind) || (is_counted && !is_moved && !is_changed)) return false;
  if (is_counted) sums_.Count(known.place, known.ToContribution(), -1);
  sums_.Count(updated.place, updated.ToContribution(), 1);
  return is_counted;
}

}  // namespace lagwatch::collector
