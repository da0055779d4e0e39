// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/recluster_job.h"

#include <utility>
#include <vector>

#include "base/process/env.h"
#include "collector/files/small_files.h"
#include "collector/symbols/names/symbol_namer.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kReclusteredInAStep = 200;

}  // namespace

ReclusterJob::ReclusterJob(Store* store, Clusterer clusterer, Symbolizer* symbolizer, std::string state_path)
    : store_(store),
      clusterer_(std::move(clusterer)),
      symbolizer_(symbolizer),
      state_path_(std::move(state_path)) {}

ReclusterProgress ReclusterJob::progress() const {
  std::lock_guard lock(mutex_);
  return progress_;
}

ReclusterJob::SavedProgress ReclusterJob::ReadState() const {
  std::string text;
  SavedProgress state;
  unsigned long long version = 0;
  char id[37] = "";
  if (base::SystemEnv().ReadAll(state_path_, &text) != 0) return state;
  const int read = std::sscanf(text.c_str(), "%llu %36s", &version, id);
  if (read >= 1) state.version = version;
  if (read == 2) state.done_until = base::TryParseUuid(id);
  return state;
}

base::Status ReclusterJob::WriteState(const SavedProgress& state) {
  const std::string id = state.done_until ? " " + base::ToString(*state.done_until) : "";
  base::Status written = ReplaceFile(state_path_, std::to_string(state.version) + id + "\n");
  if (written.ok()) state_ = state;
  return written;
}

base::Status ReclusterJob::Begin() {
  SavedProgress state = ReadState();
  if (state.version != clusterer_.version()) state = {clusterer_.version(), base::Uuid{}};
  if (state.done_until) {
    auto all = LAGWATCH_TRY(store_->Causes({.limit = 0}));
    std::lock_guard lock(mutex_);
    progress_ = {.is_running = true, .done = 0, .total = all.all.sums.reports};
  }
  return WriteState(state);
}

base::Result<bool> ReclusterJob::Step() {
  if (!state_) {
    if (base::Status begun = Begin(); !begun.ok()) return begun;
  }
  if (!state_->done_until) return false;
  const auto reports = LAGWATCH_TRY(store_->ReportsAfter(*state_->done_until, kReclusteredInAStep));
  std::vector<Reclustered> moved;
  for (const StoredReport& stored : reports) {
    const auto report = report::DecodeReport(stored.payload);
    if (!report.ok()) continue;  // it stays where it is
    const SymbolNamer namer(*report, symbolizer_);
    if (namer.is_unavailable())
      return base::Status(base::StatusCode::kUnavailable, "symbols are not available now; continuing later");
    moved.push_back({stored.row.id, clusterer_.Assign(*report, namer), {}});
  }
  if (base::Status status = store_->Recluster(moved); !status.ok()) return status;
  const bool is_done = static_cast<int64_t>(reports.size()) < kReclusteredInAStep;
  const auto until = is_done ? std::nullopt : std::optional(reports.back().row.id);
  if (base::Status written = WriteState({clusterer_.version(), until}); !written.ok()) return written;
  std::lock_guard lock(mutex_);
  progress_.done += static_cast<int64_t>(reports.size());
  progress_.is_running = !is_done;
  return !is_done;
}

}  // namespace lagwatch::collector
