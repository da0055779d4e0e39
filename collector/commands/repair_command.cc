// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "collector/commands/commands.h"
#include "collector/files/data_lock.h"
#include "collector/store/sqlite/damage/salvage.h"
#include "collector/store/sqlite/damage/set_aside.h"

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

// Sets the database that is in use aside if it is damaged.
Status SetDamagedAside(const std::string& data) {
  const std::string path = data + kDatabase;
  const Status checked = CheckDatabase(path);
  if (checked.ok()) return {};
  std::printf("%s\n", checked.message().c_str());
  return MoveDatabase(path, NewAsideFolder(data));
}

Status Repair(const std::string& data, const Clusterer& clusterer, bool is_removed) {
  const auto lock = LAGWATCH_TRY(DataLock::Take(data));
  if (Status aside = SetDamagedAside(data); !aside.ok()) return aside;
  size_t damaged = 0;
  for (const AsideDatabase& aside : ListAside(data)) {
    if (!aside.is_salvaged) {
      ++damaged;
      Print(aside.folder, LAGWATCH_TRY(Salvage(aside.folder + kDatabase, data + kDatabase, clusterer)));
    }
    if (Status marked = MarkSalvaged(aside, is_removed); !marked.ok()) return marked;
  }
  if (damaged == 0) {
    std::printf("nothing to repair: the database is good\n");
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
