// SPDX-License-Identifier: Apache-2.0
#include "collector/sharing/settings_sync.h"

#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "base/process/env.h"
#include "collector/files/small_files.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

// {name: [hash, version]}. A file that cannot be read is as none: then the common store's settings hold.
KnownSettings ReadKnown(const std::string& path) {
  std::string text;
  KnownSettings known;
  if (base::SystemEnv().ReadAll(path, &text) != 0) return known;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return known;
  for (const auto& [name, each] : json.items()) {
    if (each.is_array() && each.size() == 2 && each[0].is_number_unsigned() && each[1].is_number_integer())
      known[name] = {each[0].get<uint64_t>(), each[1].get<int64_t>()};
  }
  return known;
}

Status WriteKnown(const std::string& path, const KnownSettings& known) {
  Json json = Json::object();
  for (const auto& [name, each] : known) json[name] = Json::array({each.hash, each.version});
  return ReplaceFile(path, JsonText(json) + "\n");
}

}  // namespace

Result<bool> SettingsSync::Step() {
  const auto shared = LAGWATCH_TRY(store_->ReadSettings(prefix_));
  const KnownSettings known = ReadKnown(known_path_);
  std::optional<MergedSettings> merged;
  const Status updated = own_->Update([&](const Settings& here) {
    merged = MergeSettings(here, shared, known, base::SystemClock().WallMs() * 1000);
    return merged->here;
  });
  if (!updated.ok()) return updated;
  if (!merged) return false;
  for (const auto& [name, setting] : merged->changes) {
    if (Status put = store_->PutSetting(name, setting); !put.ok()) return put;
  }
  if (merged->known == known) return false;
  if (Status written = WriteKnown(known_path_, merged->known); !written.ok()) return written;
  return false;
}

}  // namespace lagwatch::collector
