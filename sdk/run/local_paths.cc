// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/local_paths.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/process/env.h"
#include "policies/scrubbing.h"
#include "sdk/run/default_paths.h"

namespace lagwatch::sdk {
namespace {

std::vector<std::string> Homes(const std::string& root) {
  constexpr size_t kMaxHomes = 64;
  std::vector<std::string> homes;
  if (std::string own = HomeDirectory(); !own.empty()) homes.push_back(root + own);
  homes.push_back(root + "/root");
  for (const char* folder : {"/home", "/var/home"}) {
    const std::string parent = root + folder;
    std::vector<std::string> names;
    if (base::SystemEnv().List(parent, &names) != 0) continue;
    for (const std::string& name : names)
      if (homes.size() < kMaxHomes) homes.push_back(parent + "/" + name);
  }
  return homes;
}

}  // namespace

const std::string& LocalPaths::Of(const std::string& path) {
  const auto [known, is_new] = known_.try_emplace(path, path);
  if (!is_new) return known->second;
  std::vector<std::string> candidates;
  if (path.starts_with("~/")) {
    for (const std::string& home : Homes(root_))
      candidates.push_back(home + path.substr(policies::Scrubber::kHome.size()));
  } else if (!root_.empty() && path.starts_with('/')) {
    candidates.push_back(root_ + path);
  }
  for (std::string& candidate : candidates) {
    if (!base::SystemEnv().Exists(candidate.c_str())) continue;
    known->second = std::move(candidate);
    break;
  }
  return known->second;
}

std::string RootOfSpool(const std::string& spool_directory) {
  constexpr std::string_view kProc = "/proc/";
  constexpr std::string_view kRoot = "/root/";
  if (!spool_directory.starts_with(kProc)) return "";
  const size_t end = spool_directory.find_first_not_of("0123456789", kProc.size());
  const bool has_root = end != std::string::npos && spool_directory.compare(end, kRoot.size(), kRoot) == 0;
  return has_root ? spool_directory.substr(0, end + kRoot.size() - 1) : "";
}

}  // namespace lagwatch::sdk
