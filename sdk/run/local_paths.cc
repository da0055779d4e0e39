// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/local_paths.h"

#include <utility>
#include <vector>

#include "base/process/env.h"
#include "policies/scrubbing.h"
#include "sdk/run/default_paths.h"

namespace lagwatch::sdk {
namespace {

std::vector<std::string> Homes() {
  constexpr size_t kMaxHomes = 64;
  std::vector<std::string> homes;
  if (std::string own = HomeDirectory(); !own.empty()) homes.push_back(std::move(own));
  homes.emplace_back("/root");
  for (const std::string parent : {"/home", "/var/home"}) {
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
  if (!is_new || !path.starts_with("~/")) return known->second;
  for (const std::string& home : Homes()) {
    const std::string candidate = home + path.substr(policies::Scrubber::kHome.size());
    if (!base::SystemEnv().Exists(candidate.c_str())) continue;
    known->second = candidate;
    break;
  }
  return known->second;
}

}  // namespace lagwatch::sdk
