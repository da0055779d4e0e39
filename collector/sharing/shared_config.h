// SPDX-License-Identifier: Apache-2.0
// The clients' config, with its version, as a setting that collectors share. Context: background.
// Thread-safe.
#pragma once

#include <string_view>

#include "collector/admin/config_admin.h"
#include "collector/sharing/settings_sync.h"

namespace lagwatch::collector {

inline constexpr std::string_view kConfigPrefix = "config";

class SharedConfig final : public OwnSettings {
 public:
  // Borrows `admin`.
  explicit SharedConfig(ConfigAdmin* admin) : admin_(admin) {}

  // An invalid config here is not shared, and one of another collector not taken. Errors: kIo; kInvalid for
  // a config that this collector does not understand.
  base::Status Update(const Change& change) override;
  base::Status Check(const std::string&, const std::string&) const override { return {}; }

 private:
  ConfigAdmin* const admin_;
};

}  // namespace lagwatch::collector
