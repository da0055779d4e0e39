// SPDX-License-Identifier: Apache-2.0
// Clusters all reports again when the rules, or the algorithm, have changed. Keeps its progress in a file, so
// that it continues after a restart. Context: background.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/uuid.h"
#include "collector/cluster/clusterer.h"
#include "collector/maintenance/maintenance.h"
#include "collector/store/store.h"
#include "collector/symbols/names/symbolizer.h"

namespace lagwatch::collector {

struct ReclusterProgress {
  bool is_running = false;
  int64_t done = 0;   // reports, since this program's start
  int64_t total = 0;  // about as many as there were when it began
};

class ReclusterJob final : public MaintenanceJob {
 public:
  // Borrows `store` and `symbolizer`. A store whose file is not there yet has reports of no known version,
  // unless it has none at all.
  ReclusterJob(Store* store, Clusterer clusterer, Symbolizer* symbolizer, std::string state_path);

  std::string name() const override { return "clustering again"; }
  base::Result<bool> Step() override;

  // Thread-safe.
  ReclusterProgress progress() const;

 private:
  // Of the file: "VERSION ID"; no id when all is done.
  struct SavedProgress {
    uint64_t version = 0;
    std::optional<base::Uuid> done_until;
  };

  SavedProgress ReadState() const;
  base::Status WriteState(const SavedProgress& state);
  base::Status Begin();

  Store* store_;
  const Clusterer clusterer_;
  Symbolizer* symbolizer_;
  const std::string state_path_;
  std::optional<SavedProgress> state_;  // once it was read
  mutable std::mutex mutex_;
  ReclusterProgress progress_;  // guarded by mutex_
};

}  // namespace lagwatch::collector
