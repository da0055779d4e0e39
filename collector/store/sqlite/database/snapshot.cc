// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/database/snapshot.h"

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

Status SnapshotDatabase(const std::string& from, const std::string& to) {
  try {
    Database database(from);
    database.Use("VACUUM INTO ?").Bind(to).Run();
    return {};
  } catch (const SqliteError& error) {
    return {StatusCode::kIo, "cannot copy the database " + from + " to " + to + ": " + error.what()};
  }
}

Status CheckDatabase(const std::string& path) {
  try {
    Database database(path);
    Statement check = database.Use("PRAGMA quick_check(1)");
    const std::string found = check.Step() ? check.Text(0) : "nothing";
    if (found != "ok") return {StatusCode::kInvalid, "the database " + path + " is damaged: " + found};
    Statement reports = database.Use("SELECT count(*) FROM sqlite_schema WHERE name = 'reports'");
    if (reports.Step() && reports.Int(0) == 1) return {};
    return {StatusCode::kInvalid, "the database " + path + " is not a collector's"};
  } catch (const SqliteError& error) {
    return {StatusCode::kIo, "cannot read the database " + path + ": " + error.what()};
  }
}

}  // namespace lagwatch::collector
