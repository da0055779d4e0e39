// SPDX-License-Identifier: Apache-2.0
// Says which clusters a report belongs to. Context: background. Thread-safe: immutable.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/symbols/names/frame_names.h"
#include "policies/cluster/cluster_key.h"
#include "report/format/report.h"

namespace lagwatch::collector {

struct Cluster {
  std::string key;
  int level = 1;
  std::string parent_key;           // of the level-1 cluster that holds a level-2 cluster; else empty
  std::vector<std::string> frames;  // innermost first
  // When no frame of the cluster has a symbol's name, the innermost caller that has one; else empty.
  std::string via = {};
  // Of a lock or deadlock, where its holder was, innermost first; else empty. Part of the key.
  std::vector<std::string> held_by = {};
};

using ClusterPath = std::array<Cluster, 2>;  // level 1, level 2

class Clusterer {
 public:
  explicit Clusterer(policies::ClusterRules rules, policies::ClusterBy by = policies::ClusterBy::kSignificant,
                     uint64_t version = 0)
      : rules_(std::move(rules)), by_(by), version_(version) {}
  // With the rules built into the program, or those of `rules_path` unless it is empty: a file, or a
  // directory of files ending in .txt.
  static base::Result<Clusterer> Create(const std::string& rules_path,
                                        policies::ClusterBy by = policies::ClusterBy::kSignificant);

  // The rules that select significant functions.
  const policies::ClusterRules& rules() const { return rules_; }
  // Of the way that reports get their clusters: the rules and the algorithm.
  uint64_t version() const { return version_; }

  // By the names that the client knew.
  ClusterPath Assign(const report::Report& report) const;
  // By the names that `namer` gives.
  ClusterPath Assign(const report::Report& report, const FrameNamer& namer) const;

 private:
  policies::ClusterRules rules_;
  policies::ClusterBy by_;
  uint64_t version_;
};

// The text of policies/cluster_rules/*.txt, which is built into the program.
std::string_view DefaultClusterRules();

}  // namespace lagwatch::collector
