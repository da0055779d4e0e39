// SPDX-License-Identifier: Apache-2.0
// Gives reports the clusters that they have with names from symbol files: those that came before their
// symbols, and those whose symbols were there already. Context: background.
#pragma once

#include <string>
#include <utility>

#include "collector/cluster/clusterer.h"
#include "collector/maintenance/maintenance.h"
#include "collector/store/store.h"
#include "collector/symbols/names/symbolizer.h"

namespace lagwatch::collector {

class SymbolizeJob final : public MaintenanceJob {
 public:
  // Borrows `store` and `symbolizer`.
  SymbolizeJob(Store* store, Clusterer clusterer, Symbolizer* symbolizer)
      : store_(store), clusterer_(std::move(clusterer)), symbolizer_(symbolizer) {}

  std::string name() const override { return "symbolization"; }
  base::Result<bool> Step() override;

 private:
  base::Result<bool> NameSome(const std::string& build_id);

  Store* store_;
  const Clusterer clusterer_;
  Symbolizer* symbolizer_;
};

}  // namespace lagwatch::collector
