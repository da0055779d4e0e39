// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "collector/commands/commands.h"
#include "collector/files/data_lock.h"
#include "collector/ingest/unread_limits.h"
#include "collector/store/sqlite/damage/salvage.h"
#include "collector/store/sqlite/damage/set_aside.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {
namespace {

constexpr char kDatabase[] = "/collector.db";

void Print(const std::string& folder, const Salvaged& salvaged) {
  std::printf("%s\n  %-26s %12s %12s  %s\n", folder.c_str(), "RECORDS", "KEPT", "LOST", "PLACES");
  for (const SalvagedKind& kind : salvaged.kinds) {
    std::printf("  %-26s %12lld %12lld  %lld\n", kind.name.c_str(), static_cast<long long>(kind.kept),
                static_cast<long long>(kind.lost), static_cast<long long>(kind.gaps));
  }
  if (salvaged.reports_before) {
    std::printf("  The database had %lld reports by its sums.\n",
                static_cast<long long>(*salvaged.reports_before));
  }
}

// Of no file, and of an empty one, which a collector fills at its start.
bool IsEmpty(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error == std::errc::no_such_file_or_directory || (!error && size == 0);
}

// Sets the database that is in use aside if it is damaged.
Status SetDamagedAside(const std::string& data) {
  const std::string path = data + kDatabase;
  if (Status finished = FinishMove(path); !finished.ok()) return finished;
  if (IsEmpty(path)) return {};
  Status checked = CheckDatabase(path);
  const bool has_wrong_values = checked.code() == StatusCode::kInvalid;
  if (checked.code() != StatusCode::kInternal && !has_wrong_values) return checked;
  std::printf("%s\n", checked.message().c_str());
  if (has_wrong_values) return {};  // a collector goes on with it
  return MoveDatabase(path, NewAsideFolder(data));
}

// Whether there is nothing to salvage: no file, or a database without a table.
bool HasNoTables(const std::string& path) {
  if (IsEmpty(path)) return true;
  try {
    Database database(path);
    Statement tables = database.Use("SELECT count(*) FROM sqlite_schema");
    return tables.Step() && tables.Int(0) == 0;
  } catch (const SqliteError&) {
    return false;
  }
}

Status Repair(const std::string& data, const Clusterer& clusterer, bool is_removed) {
  const auto lock = LAGWATCH_TRY(DataLock::Take(data));
  if (Status aside = SetDamagedAside(data); !aside.ok()) return aside;
  UnreadLimits unread;
  const auto bound_unread = [&unread](NewRecord* report) { unread.Bound(report); };
  size_t damaged = 0;
  for (const AsideDatabase& aside : ListAside(data)) {
    if (!aside.is_salvaged && HasNoTables(aside.folder + kDatabase)) {
      std::printf("%s\n  has no database with records\n", aside.folder.c_str());
    } else if (!aside.is_salvaged) {
      ++damaged;
      Print(aside.folder,
            LAGWATCH_TRY(Salvage(aside.folder + kDatabase, data + kDatabase, clusterer, bound_unread)));
    }
    if (Status marked = MarkSalvaged(aside, is_removed); !marked.ok()) return marked;
  }
  if (damaged == 0) {
    std::printf("nothing to repair\n");
  } else if (!is_removed) {
    std::printf(
        "LOST are records that are known and cannot be read; of a place that cannot be read, it is not "
        "known what it had.\nThe damaged database stays in %s/damaged until `repair --remove`.\n",
        data.c_str());
  }
  return {};
}

}  // namespace

void AddRepairCommand(CLI::App* app, const std::function<std::string()>& data,
                      const std::function<base::Result<Clusterer>()>& clusterer, int* exit_code) {
  auto is_removed = std::make_shared<bool>(false);
  CLI::App* repair = app->add_subcommand(
      "repair",
      "Copy what can be read of a damaged database into the good one, and say what is lost; the "
      "collector must not run");
  repair->fallthrough();
  repair->add_flag("--remove", *is_removed, "Remove damaged databases once that is done");
  repair->callback([=] {
    const auto made = clusterer();
    const Status repaired = made.ok() ? Repair(data(), *made, *is_removed) : made.status();
    *exit_code = repaired.ok() ? 0 : Fail(repaired);
  });
}

}  // namespace lagwatch::collector
