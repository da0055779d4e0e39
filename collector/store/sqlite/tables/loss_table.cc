// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>

#include "collector/store/loss_weights.h"
#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {
namespace {

struct LossKey {
  std::string app, version, reason;
  int64_t cause = 0;

  auto operator<=>(const LossKey&) const = default;
};

struct LossSum {
  double reports = 0;
  double weighted_reports = 0;
};

// Adds `sum`, or takes it out with `sign` -1. A group that has no reports left goes: what rounding leaves of
// its weights goes with it.
void AddToSums(Database* database, const LossKey& key, const LossSum& sum, int sign) {
  database
      ->Use(
          R"sql(
            INSERT INTO loss_sums (app, version, reason, cause, reports, weighted_reports)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT DO UPDATE SET reports = reports + ?5,
              weighted_reports = max(weighted_reports + ?6, 0.0)
          )sql")
      .Bind(key.app, key.version, key.reason, key.cause, sign * sum.reports, sign * sum.weighted_reports)
      .Run();
  if (sign > 0) return;
  database
      ->Use(
          R"sql(
            DELETE FROM loss_sums
            WHERE cause = ? AND reason = ? AND app = ? AND version = ? AND reports < 0.5
          )sql")
      .Bind(key.cause, key.reason, key.app, key.version)
      .Run();
}

using LossSums = std::map<LossKey, LossSum>;

// Adds the entries of a statement that reads these columns.
#define LAGWATCH_LOSS_COLUMNS "app, version, reason, cause, count, sample_rate_ppm"
void SumUp(Statement* rows, LossSums* sums) {
  while (rows->Step()) {
    LossSum& sum = (*sums)[{rows->Text(0), rows->Text(1), rows->Text(2), rows->Int(3)}];
    sum.reports += CountedLosses(rows->Int(4));
    sum.weighted_reports += WeightedLosses(rows->Text(2), rows->Int(4), rows->Int(5));
  }
}

// Sums of the records with ids before `end`.
LossSums SumsBefore(Database* database, const base::Uuid& end) {
  LossSums sums;
  Statement rows = database->Use("SELECT " LAGWATCH_LOSS_COLUMNS " FROM losses WHERE id < ?");
  rows.Bind(Blob{end.as_bytes()});
  SumUp(&rows, &sums);
  return sums;
}

void NoteCause(int64_t cause, std::set<int64_t>* causes) {
  if (cause != 0) causes->insert(cause);
}

void TakeOutOfSums(Database* database, const LossSums& removed, std::set<int64_t>* causes) {
  for (const auto& [key, sum] : removed) {
    AddToSums(database, key, sum, -1);
    NoteCause(key.cause, causes);
  }
}

}  // namespace

bool InsertLosses(Database* database, const report::Losses& losses, int64_t sender,
                  std::set<int64_t>* causes) {
  int64_t position = 0;
  bool is_new = false;
  for (const report::Loss& loss : losses.losses) {
    const std::string_view reason = report::LossReasonName(loss.reason);
    const auto cause = static_cast<int64_t>(loss.cause);
    const int64_t count = ToSigned(loss.count);
    database
        ->Use(
            R"sql(
              INSERT OR IGNORE INTO losses (id, position, app, version, user, begin_wall_ms,
                end_wall_ms, reason, cause, count, sample_rate_ppm, sender)
              VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            )sql")
        .Bind(Blob{losses.id.as_bytes()}, position++, losses.app, losses.app_version, losses.user,
              ToSigned(losses.begin_wall_ms), ToSigned(losses.end_wall_ms), reason, cause, count,
              int64_t{loss.sample_rate_ppm}, sender)
        .Run();
    if (database->changes() == 0) continue;
    is_new = true;
    AddToSums(database, {losses.app, losses.app_version, std::string(reason), cause},
              {CountedLosses(count), WeightedLosses(reason, count, loss.sample_rate_ppm)}, 1);
    NoteCause(cause, causes);
  }
  return is_new;
}

void RemoveLosses(Database* database, const base::Uuid& end, std::set<int64_t>* causes) {
  const LossSums removed = SumsBefore(database, end);
  if (removed.empty()) return;
  database->Use("DELETE FROM losses WHERE id < ?").Bind(Blob{end.as_bytes()}).Run();
  TakeOutOfSums(database, removed, causes);
}

void RemoveLosses(Database* database, std::span<const std::string> ids, std::set<int64_t>* causes) {
  LossSums removed;
  for (const std::string& id : ids) {
    Statement rows = database->Use("DELETE FROM losses WHERE id = ? RETURNING " LAGWATCH_LOSS_COLUMNS);
    rows.Bind(Blob{id});
    SumUp(&rows, &removed);
  }
  TakeOutOfSums(database, removed, causes);
}

void RebuildLossSums(Database* database, std::set<int64_t>* causes) {
  {
    Statement rows = database->Use("SELECT DISTINCT cause FROM loss_sums");
    while (rows.Step()) NoteCause(rows.Int(0), causes);
  }
  database->Execute("DELETE FROM loss_sums");
  // No id is of all ones: its version is 7.
  base::Uuid end;
  end.bytes.fill(0xff);
  for (const auto& [key, sum] : SumsBefore(database, end)) {
    AddToSums(database, key, sum, 1);
    NoteCause(key.cause, causes);
  }
}

std::vector<LossRow> ReadLosses(Database* database, const ReportFilter& filter) {
  Statement rows = database->Use(
      R"sql(
        SELECT app, version, reason, cause, CAST(reports AS INTEGER), weighted_reports
        FROM loss_sums
        WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)
        ORDER BY weighted_reports DESC
      )sql");
  rows.Bind(filter.app, filter.version);
  return rows.All([](const Statement& row) {
    return LossRow{.app = row.Text(0),
                   .version = row.Text(1),
                   .reason = row.Text(2),
                   .cause = row.Int(3),
                   .count = row.Int(4),
                   .weighted_count = row.Real(5)};
  });
}

}  // namespace lagwatch::collector
