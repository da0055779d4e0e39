// SPDX-License-Identifier: Apache-2.0
// Keeps a collector's keys or config the same as those of all collectors that have one store. Context:
// background.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/status.h"
#include "collector/maintenance/maintenance.h"
#include "collector/sharing/settings_merge.h"
#include "collector/store/settings_store.h"

namespace lagwatch::collector {

// A collector's own settings of one kind.
class OwnSettings {
 public:
  using Change = std::function<Settings(const Settings& here)>;

  virtual ~OwnSettings() = default;

  // Replaces all of them by what `change` returns; no other change comes between. `change` may be called once
  // at most, and its result counts only if this succeeds.
  virtual base::Status Update(const Change& change) = 0;
  // Errors: kInvalid for a content that this collector does not understand, such as a newer one's. It is
  // passed over: neither taken nor replaced by another content.
  virtual base::Status Check(const std::string& name, const std::string& content) const = 0;
};

class SettingsSync final : public MaintenanceJob {
 public:
  // Settings whose names begin with `prefix`. `known_path` is a file that remembers what was the same when;
  // it need not be there yet. Borrows the others.
  SettingsSync(std::string prefix, SettingsStore* store, OwnSettings* own, std::string known_path)
      : prefix_(std::move(prefix)), store_(store), own_(own), known_path_(std::move(known_path)) {}

  std::string name() const override { return "sharing of " + prefix_; }
  // Errors: kUnavailable while the store does not answer; then everything here stays as it is, and changes
  // are sent later. kInvalid when a setting was passed over; the others are shared.
  base::Result<bool> Step() override;

 private:
  const std::string prefix_;
  SettingsStore* const store_;
  OwnSettings* const own_;
  const std::string known_path_;
};

}  // namespace lagwatch::collector
