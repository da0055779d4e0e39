// SPDX-License-Identifier: Apache-2.0
#include "collector/sharing/settings_sync.h"

#include <cerrno>
#include <optional>
#include <set>

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

// The first error of those that it takes out.
Status TakeOut(const OwnSettings& own, SharedSettings* shared, std::set<std::string>* names) {
  Status first;
  for (const auto& [name, setting] : *shared) {
    if (setting.content.empty()) continue;
    const Status checked = own.Check(name, setting.content);
    if (checked.ok()) continue;
    names->insert(name);
    if (first.ok()) first = {checked.code(), name + " is passed over: " + checked.message()};
  }
  for (const std::string& name : *names) shared->erase(name);
  return first;
}

}  // namespace

Result<bool> SettingsSync::Step() {
  auto shared = LAGWATCH_TRY(store_->ReadSettings(prefix_));
  std::set<std::string> passed_over;
  const Status understood = TakeOut(*own_, &shared, &passed_over);
  const KnownSettings known = ReadKnown(known_path_);
  std::optional<MergedSettings> merged;
  const Status updated = own_->Update([&](const Settings& here) {
    merged = MergeSettings(here, shared, known, base::SystemClock().WallMs() * 1000);
    return merged->here;
  });
  if (!updated.ok()) return updated;
  if (!merged) return false;
  for (const auto& [name, setting] : merged->changes) {
    // A revocation replaces what is not understood, too.
    if (!setting.content.empty() && passed_over.contains(name)) continue;
    if (Status put = store_->PutSetting(name, setting); !put.ok()) return put;
  }
  if (merged->known != known) {
    if (Status written = WriteKnown(known_path_, merged->known); !written.ok()) return written;
  }
  return understood.ok() ? Result<bool>(false) : understood;
}

}  // namespace lagwatch::collector
