// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cluster_edits.h"

namespace lagwatch::policies {

base::Status ClusterEdits::Merge(const std::string& key, const std::string& into) {
  if (Merged(into) == key)
    return {base::StatusCode::kInvalid,
            "cluster " + into + " is shown under " + key + " already: undo that first"};
  merges_[key] = into;
  return {};
}

void ClusterEdits::Split(const std::string& key) { splits_.insert(key); }

std::string ClusterEdits::ShownKey(std::string_view level1_key, std::string_view level2_key) const {
  return Merged(std::string(splits_.contains(level1_key) ? level2_key : level1_key));
}

std::string ClusterEdits::Merged(std::string key) const {
  for (auto into = merges_.find(key); into != merges_.end(); into = merges_.find(key)) key = into->second;
  return key;
}

}  // namespace lagwatch::policies
