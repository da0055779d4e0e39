// SPDX-License-Identifier: Apache-2.0
// Settings of collectors that have one store, kept in it. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// A setting as the common store has it.
struct SharedSetting {
  std::string content;  // empty: it was removed
  int64_t version = 0;  // grows with each change, whichever collector makes it

  bool operator==(const SharedSetting&) const = default;
};
using SharedSettings = std::map<std::string, SharedSetting>;  // by name

// The store. Thread-safe.
class SettingsStore {
 public:
  virtual ~SettingsStore() = default;

  // Those whose names begin with `prefix`, removed ones among them. Errors: kUnavailable.
  virtual base::Result<SharedSettings> ReadSettings(const std::string& prefix) = 0;
  virtual base::Status PutSetting(const std::string& name, const SharedSetting& setting) = 0;
};

}  // namespace lagwatch::collector
