// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/package_shares.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace lagwatch::collector {

void PackageShares::Add(const report::Stack& stack, const NamedStacks& names, double ns) {
  std::string package;
  bool is_own = false;
  for (auto frame = stack.frames.begin(); frame != stack.frames.end() && !is_own; ++frame) {
    for (auto& function : names.DescribeFrame(*frame)) {
      if (!function.is_own && !package.empty()) continue;
      is_own |= function.is_own;
      package = std::move(function.package);
      if (is_own) break;
    }
  }
  if (package.empty() || ns <= 0) return;
  ns_[package] += ns;
  all_ns_ += ns;
}

Json PackageShares::ToJson() const {
  std::vector<std::pair<std::string, double>> sorted(ns_.begin(), ns_.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, double>::second);
  if (sorted.size() > kMostListed) sorted.resize(kMostListed);
  Json shares = Json::array();
  for (const auto& [package, ns] : sorted)
    shares.push_back({{"package", package}, {"ms", ToMs(ns)}, {"share", ns / all_ns_}});
  return shares;
}

}  // namespace lagwatch::collector
