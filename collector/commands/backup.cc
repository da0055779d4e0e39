// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <system_error>

#include "collector/commands/commands.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {
namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "collector.db";
constexpr char kDamaged[] = "damaged";
constexpr char kKeys[] = "keys.json";
constexpr char kSymbols[] = "symbols";

// The database is copied by itself, with its log; locks and files that are being written are of no use.
bool IsCopied(const fs::path& path, bool has_symbols) {
  const std::string name = path.filename();
  if (name.starts_with(kDatabase) || name == kDamaged) return false;
  if (name == kSymbols) return has_symbols;
  return path.extension() != ".lock" && path.extension() != ".new";
}

// Calls `work`, whose errors the standard library throws.
Status Guarded(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const fs::filesystem_error& error) {
    return {StatusCode::kIo, error.what()};
  }
}

bool HasFile(const std::string& directory, const char* name) {
  std::error_code ignored;
  return fs::exists(fs::path(directory) / name, ignored);
}

// With or without a database: that may be elsewhere.
bool IsData(const std::string& directory) {
  return HasFile(directory, kDatabase) || HasFile(directory, kKeys);
}

Status CopyFiles(const fs::path& from, const fs::path& to, bool has_symbols) {
  return Guarded([&] {
    for (const auto& entry : fs::directory_iterator(from)) {
      if (IsCopied(entry.path(), has_symbols))
        fs::copy(entry.path(), to / entry.path().filename(), fs::copy_options::recursive);
    }
  });
}

// The content at one moment, without blocking writers.
Status SnapshotDatabase(const std::string& from, const std::string& to) {
  try {
    Database database(from);
    database.Use("VACUUM INTO ?").Bind(to).Run();
    return {};
  } catch (const SqliteError& error) {
    return {StatusCode::kIo, "cannot copy the database " + from + " to " + to + ": " + error.what()};
  }
}

}  // namespace

Status CheckDatabase(const std::string& path) {
  try {
    Database database(path);
    Statement check = database.Use("PRAGMA quick_check(1)");
    const std::string found = check.Step() ? check.Text(0) : "nothing";
    if (found != "ok") {
      return {found.starts_with(kPagesFound) ? StatusCode::kInternal : StatusCode::kInvalid,
              "the database " + path + " is damaged: " + found};
    }
    Statement reports = database.Use("SELECT count(*) FROM sqlite_schema WHERE name = 'reports'");
    if (reports.Step() && reports.Int(0) == 1) return {};
    return {StatusCode::kNotFound, "the database " + path + " is not a collector's"};
  } catch (const SqliteError& error) {
    return {error.is_damage() ? StatusCode::kInternal : StatusCode::kIo,
            "cannot read the database " + path + ": " + error.what()};
  }
}

Status BackUp(const std::string& from, const std::string& to, const BackupOptions& options) {
  std::error_code ignored;
  if (!IsData(from))
    return {StatusCode::kInvalid, from + " is not a collector's data directory; name one with --data"};
  if (fs::exists(to, ignored)) return {StatusCode::kInvalid, to + " exists already; name a new directory"};
  const std::string part = to + ".part";
  fs::remove_all(part, ignored);  // of a backup that was broken off
  Status done = Guarded([&] { fs::create_directories(part); });
  if (done.ok() && HasFile(from, kDatabase))
    done = SnapshotDatabase(from + "/" + kDatabase, part + "/" + kDatabase);
  if (done.ok()) done = CopyFiles(from, part, options.has_symbols);
  if (done.ok()) done = Guarded([&] { fs::rename(part, to); });
  if (!done.ok()) fs::remove_all(part, ignored);
  return done;
}

Status Restore(const std::string& backup, const std::string& to) {
  const std::string database = backup + "/" + kDatabase;
  const bool has_database = HasFile(backup, kDatabase);
  if (!IsData(backup)) return {StatusCode::kInvalid, backup + " is not a collector's backup"};
  if (IsData(to))
    return {StatusCode::kInvalid,
            to + " is a collector's data directory already; name another one with --data"};
  if (has_database) {
    if (Status checked = CheckDatabase(database); !checked.ok()) return checked;
  }
  Status done = Guarded([&] { fs::create_directories(to); });
  if (done.ok()) done = CopyFiles(backup, to, true);
  // Last: without it, the directory is none that a collector has served.
  if (done.ok() && has_database) done = Guarded([&] { fs::copy_file(database, fs::path(to) / kDatabase); });
  return done;
}

}  // namespace lagwatch::collector
