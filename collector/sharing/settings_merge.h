// SPDX-License-Identifier: Apache-2.0
// Settings that several collectors share, and the decision which of two contents holds. Context: background;
// pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "collector/store/settings_store.h"

namespace lagwatch::collector {

inline constexpr std::string_view kKeyPrefix = "key/";

// Contents by name, none of them empty.
using Settings = std::map<std::string, std::string>;

// A setting as a collector had it when it was last the same here and there.
struct KnownSetting {
  uint64_t hash = 0;  // of the content
  int64_t version = 0;

  bool operator==(const KnownSetting&) const = default;
};
using KnownSettings = std::map<std::string, KnownSetting>;

struct MergedSettings {
  Settings here;           // in force on this collector now
  SharedSettings changes;  // for the common store
  KnownSettings known;     // once both are done
};

// Of each setting, the content that holds. One that was changed here since it was known is a change for the
// others, whose version is above all others and at least `least_version`; else that of the common store
// holds. The removal of a key holds against any change here. A collector that knows nothing of a setting yet
// takes it over. A setting that the common store lacks, or has in a lower version than the known one (it was
// lost or restored, or a replica is behind), holds as it is here, and is sent in the known version, removals
// too: a newer one that another collector has still replaces it.
MergedSettings MergeSettings(const Settings& here, const SharedSettings& shared, const KnownSettings& known,
                             int64_t least_version);

}  // namespace lagwatch::collector
