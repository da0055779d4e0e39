// SPDX-License-Identifier: Apache-2.0
#include "collector/sharing/settings_merge.h"

#include <algorithm>
#include <set>

#include "base/hash.h"

namespace lagwatch::collector {
namespace {

template <typename Map>
auto Find(const Map& map, const std::string& name) -> const typename Map::mapped_type* {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

MergedSettings MergeSettings(const Settings& here, const SharedSettings& shared, const KnownSettings& known,
                             int64_t least_version) {
  std::set<std::string> names;
  for (const auto& [name, content] : here) names.insert(name);
  for (const auto& [name, setting] : shared) names.insert(name);
  for (const auto& [name, setting] : known) names.insert(name);
  MergedSettings merged;
  for (const std::string& name : names) {
    const std::string* const own = Find(here, name);
    const std::string mine = own != nullptr ? *own : "";
    const SharedSetting* const theirs = Find(shared, name);
    const KnownSetting* const before = Find(known, name);
    const bool is_changed_here = before != nullptr && before->hash != base::HashBytes(mine);
    const bool is_behind = theirs != nullptr && before != nullptr && theirs->version < before->version;
    const bool is_the_same = theirs != nullptr && theirs->content == mine;
    const bool is_revoked =
        theirs != nullptr && !is_behind && theirs->content.empty() && name.starts_with(kKeyPrefix);
    // The store was lost, or an older state of it restored.
    const bool is_restored = before != nullptr && !is_changed_here && (theirs == nullptr || is_behind);
    const bool is_new = theirs == nullptr && before == nullptr;
    const bool is_sent = is_new || (is_changed_here && !is_the_same && !is_revoked);
    const bool is_taken = theirs != nullptr && !is_sent && !is_behind;
    const std::string& content = is_taken ? theirs->content : mine;
    int64_t version =
        std::max(before != nullptr ? before->version : 0, theirs != nullptr ? theirs->version : 0);
    if (is_sent) version = std::max(version + 1, least_version);
    if (is_sent || is_restored) merged.changes[name] = {mine, version};
    if (!content.empty()) merged.here[name] = content;
    merged.known[name] = {base::HashBytes(content), version};
  }
  return merged;
}

}  // namespace lagwatch::collector
