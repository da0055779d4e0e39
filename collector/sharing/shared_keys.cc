// SPDX-License-Identifier: Apache-2.0
#include "collector/sharing/shared_keys.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"

namespace lagwatch::collector {
namespace {

std::string SettingOf(const KeyRecord& record) {
  return std::string(kKeyPrefix) + base::ToHex(record.digest);
}

Result<KeyRecord> Parse(const std::string& content) {
  return ParseKeyRecord(nlohmann::ordered_json::parse(content, nullptr, /*allow_exceptions=*/false));
}

// All collectors come to the same names, whichever key they learn of first.
void MakeNamesUnique(std::vector<KeyRecord>* records) {
  constexpr size_t kMostKept = 50;  // of the name, before what is added
  constexpr size_t kDigits = 8;
  std::vector<KeyRecord*> oldest_first;
  for (KeyRecord& record : *records) oldest_first.push_back(&record);
  std::ranges::sort(oldest_first, [](const KeyRecord* a, const KeyRecord* b) {
    return std::tie(a->created_wall_ms, a->digest) < std::tie(b->created_wall_ms, b->digest);
  });
  std::set<std::string> names;
  for (KeyRecord* record : oldest_first) {
    if (names.insert(record->name).second) continue;
    record->name = record->name.substr(0, kMostKept) + "-" + base::ToHex(record->digest).substr(0, kDigits);
    names.insert(record->name);
  }
}

}  // namespace

base::Status SharedKeys::Check(const std::string& name, const std::string& content) const {
  const auto record = Parse(content);
  if (!record.ok()) return record.status();
  return SettingOf(*record) == name ? Status() : Status(StatusCode::kInvalid, "it is of another digest");
}

base::Status SharedKeys::Update(const Change& change) {
  return file_.Change([&](std::vector<KeyRecord>* records) -> Status {
    Settings here;
    for (const KeyRecord& record : *records) here[SettingOf(record)] = ToJson(record).dump();
    const Settings merged = change(here);
    if (merged == here) return {};
    std::erase_if(*records, [&](const KeyRecord& record) { return !merged.contains(SettingOf(record)); });
    for (const auto& [name, content] : merged) {
      auto record = LAGWATCH_TRY(Parse(content));
      const auto known = std::ranges::find(*records, record.digest, &KeyRecord::digest);
      if (known != records->end()) {
        *known = std::move(record);
      } else {
        records->push_back(std::move(record));
      }
    }
    MakeNamesUnique(records);
    return {};
  });
}

}  // namespace lagwatch::collector
