// SPDX-License-Identifier: Apache-2.0
// The part of the store that finds damage and goes on without the damaged file.
#include <chrono>
#include <iterator>
#include <string_view>

#include "collector/store/sqlite/damage/set_aside.h"
#include "collector/store/sqlite/sqlite_store.h"

namespace lagwatch::collector {
namespace {

// Queries that arrive meanwhile wait for so long.
constexpr std::chrono::milliseconds kMostQuietTime{2000};

// SQLite checks a table's structure, with its indexes, at once. The content of large tables is read in parts:
// other work goes on between them.
constexpr const char* kChecks[] = {
    "PRAGMA quick_check(reports)",         "PRAGMA quick_check(clusters)",
    "PRAGMA quick_check(segments)",        "PRAGMA quick_check(cluster_sums)",
    "PRAGMA quick_check(cause_reports)",   "PRAGMA quick_check(usage)",
    "PRAGMA quick_check(usage_sums)",      "PRAGMA quick_check(losses)",
    "PRAGMA quick_check(loss_sums)",       "PRAGMA quick_check(run_ends)",
    "PRAGMA quick_check(early_ends)",      "PRAGMA quick_check(frame_slices)",
    "PRAGMA quick_check(traces)",          "PRAGMA quick_check(senders)",
    "PRAGMA quick_check(cluster_notes)",   "PRAGMA quick_check(unnamed_builds)",
    "PRAGMA quick_check(unknown_records)", "PRAGMA quick_check(capped_sums)"};
constexpr const char* kReads[] = {"SELECT row, payload FROM payloads WHERE row > ? ORDER BY row LIMIT 200",
                                  "SELECT row, trace FROM packed_traces WHERE row > ? ORDER BY row LIMIT 20"};

}  // namespace

Status SqliteStore::Damage() const {
  std::lock_guard lock(damage_mutex_);
  if (damage_.empty()) return {};
  return {StatusCode::kInternal, "the database is damaged: " + damage_};
}

void SqliteStore::NoteDamage(const std::string& found) const {
  std::lock_guard lock(damage_mutex_);
  if (damage_.empty()) damage_ = found;
}

Result<bool> SqliteStore::CheckPart(CheckProgress* progress) {
  return Guarded([&] {
    Connections::ScopedReader reader(&connections_);
    const size_t part = progress->part;
    if (part < std::size(kChecks)) {
      Statement rows = reader->Use(kChecks[part]);
      const std::string found = rows.Step() ? rows.Text(0) : "ok";
      // Damaged pages alone: values that a column should not have are no reason to go on without the file.
      if (found.starts_with(kPagesFound)) NoteDamage(found.substr(kPagesFound.size()));
      ++progress->part;
      return true;
    }
    Statement rows = reader->Use(kReads[part - std::size(kChecks)]);
    rows.Bind(progress->row);
    const int64_t before = progress->row;
    while (rows.Step()) progress->row = rows.Int(0);
    if (progress->row != before) return true;
    progress->row = -1;
    return ++progress->part < std::size(kChecks) + std::size(kReads);
  });
}

Status SqliteStore::SetAside(const std::string& directory) {
  const Connections::ScopedQuiet quiet(&connections_, kMostQuietTime);
  if (!quiet.is_quiet())
    return {StatusCode::kUnavailable, "queries still read the damaged database; it is set aside after them"};
  const LogSync::Hold hold = log_sync_.HoldSyncs();
  Connections::ScopedWriter writer(&connections_);
  log_sync_.Close(hold);
  Status status;
  try {
    connections_.Reopen(quiet, [&] {
      status = MoveDatabase(path_, directory);
      if (!status.ok()) throw SqliteError(status.message());
    });
    status = Prepare(writer.get());
  } catch (const SqliteError& error) {
    if (status.ok()) status = {StatusCode::kIo, "cannot open a new database " + path_ + ": " + error.what()};
  }
  reports_.Forget();
  reports_.ForgetIds();
  unused_.Restart();
  sender_ids_.clear();
  if (!status.ok()) return status;
  std::lock_guard lock(damage_mutex_);
  damage_.clear();
  return {};
}

}  // namespace lagwatch::collector
