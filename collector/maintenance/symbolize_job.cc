// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/symbolize_job.h"

#include <chrono>
#include <vector>

#include "collector/symbols/mapping/mapping_id.h"
#include "collector/symbols/names/symbol_namer.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kBuildsOfAStep = 1000;
constexpr int64_t kNamedInAStep = 100;
// Modules that were looked up in one step are known in the next, which so comes further.
constexpr std::chrono::seconds kTimeOfAStep{10};

}  // namespace

base::Result<bool> SymbolizeJob::Step() {
  const auto builds = LAGWATCH_TRY(store_->UnnamedBuilds(kBuildsOfAStep));
  bool has_more = false;
  const auto end = std::chrono::steady_clock::now() + kTimeOfAStep;
  for (const UnnamedBuild& build : builds) {
    // A place that is in no function asks whether there is a file, and costs nothing else.
    const CodePlace nowhere[] = {CodePlace()};
    const bool has_file = symbolizer_->Symbolize(build.build_id, nowhere).ok();
    if (std::chrono::steady_clock::now() >= end) return true;
    if (!has_file) continue;
    has_more |= LAGWATCH_TRY(NameSome(build.build_id));
  }
  return has_more;
}

base::Result<bool> SymbolizeJob::NameSome(const std::string& build_id) {
  const auto reports = LAGWATCH_TRY(store_->ReportsWithUnnamed(build_id, kNamedInAStep));
  std::vector<Reclustered> moved;
  for (const StoredReport& stored : reports) {
    const auto report = LAGWATCH_TRY(report::DecodeReport(stored.payload));
    const SymbolNamer namer(report, symbolizer_);
    if (namer.is_unavailable()) continue;
    moved.push_back({stored.row.id, clusterer_.Assign(report, namer), build_id});
    if (!IsMappingId(build_id)) continue;
    // A report of Java may wait for several, and has its names by one.
    for (std::string& other : WantedMappingIdsOf(report))
      if (other != build_id) moved.push_back({stored.row.id, moved.back().clusters, std::move(other)});
  }
  if (base::Status status = store_->Recluster(moved); !status.ok()) return status;
  return static_cast<int64_t>(reports.size()) == kNamedInAStep && !moved.empty();
}

}  // namespace lagwatch::collector
