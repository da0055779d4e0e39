// SPDX-License-Identifier: Apache-2.0
// Says which clusters a report belongs to. Context: background. Thread-safe: immutable.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/status.h"
#include "policies/cluster_key.h"
#include "report/format/report.h"

namespace lagwatch::collector {

struct Cluster {
  std::string key;
  int level = 1;
  std::string parent_key;           // of the level-1 cluster that holds a level-2 cluster; else empty
  std::vector<std::string> frames;  // innermost first
  // When no frame of the cluster has a symbol's name, the innermost caller that has one; else empty.
  std::string via;
};

using ClusterPath = std::array<Cluster, 2>;  // level 1, level 2

class Clusterer {
 public:
  explicit Clusterer(policies::WaitFrames wait_frames) : wait_frames_(std::move(wait_frames)) {}
  // With the wait frames built into the program, or those of `wait_frames_file` unless it is empty.
  static base::Result<Clusterer> Create(const std::string& wait_frames_file);

  const policies::WaitFrames& wait_frames() const { return wait_frames_; }

  ClusterPath Assign(const report::Report& report) const;

 private:
  policies::WaitFrames wait_frames_;
};

}  // namespace lagwatch::collector
