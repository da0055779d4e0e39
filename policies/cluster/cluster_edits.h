// SPDX-License-Identifier: Apache-2.0
// Manual changes of clusters: several that are one cause, one that is several. Maps the keys of reports to
// the keys that they are shown under; the reports' own keys stay. Context: background; pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::policies {

class ClusterEdits {
 public:
  // Shows the reports of `key` under `into`, and so those that are shown under `key` already. Instead of an
  // earlier merge of `key`. Error: kInvalid when `into` is shown under `key`.
  base::Status Merge(const std::string& key, const std::string& into);
  // Shows the reports of the level-1 cluster `key` under their level-2 clusters.
  void Split(const std::string& key);

  // The key that a report with these two is shown under.
  std::string ShownKey(std::string_view level1_key, std::string_view level2_key) const;

  const std::map<std::string, std::string>& merges() const { return merges_; }
  const std::set<std::string, std::less<>>& splits() const { return splits_; }

 private:
  std::string Merged(std::string key) const;

  std::map<std::string, std::string> merges_;  // never a cycle
  std::set<std::string, std::less<>> splits_;
};

}  // namespace lagwatch::policies
