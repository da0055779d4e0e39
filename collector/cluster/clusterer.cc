// SPDX-License-Identifier: Apache-2.0
#include "collector/cluster/clusterer.h"

#include <algorithm>
#include <span>

#include "base/env.h"
#include "collector/cluster/default_wait_frames.h"
#include "collector/symbols/frame_names.h"

namespace lagwatch::collector {
namespace {

// `frames` is the stack from the cluster's first frame on.
std::string FindVia(std::span<const report::Frame> frames, size_t cluster_size, FrameNames* names) {
  auto named = std::find_if(frames.begin(), frames.end(),
                            [&](const report::Frame& frame) { return names->NameOf(frame).is_symbol; });
  bool is_beyond = named != frames.end() && static_cast<size_t>(named - frames.begin()) >= cluster_size;
  return is_beyond ? names->NameOf(*named).text : "";
}

}  // namespace

base::Result<Clusterer> Clusterer::Create(const std::string& wait_frames_file) {
  std::string text(DefaultWaitFrames());
  if (!wait_frames_file.empty()) {
    if (int error = base::SystemEnv().ReadAll(wait_frames_file, &text)) {
      return base::IoError("cannot read the wait frames file " + wait_frames_file, error);
    }
  }
  auto wait_frames = policies::WaitFrames::Parse(text);
  if (!wait_frames.ok()) {
    return base::Status(wait_frames.status().code(),
                        "wait frames file " + wait_frames_file + ", " + wait_frames.status().message());
  }
  return Clusterer(std::move(*wait_frames));
}

ClusterPath Clusterer::Assign(const report::Report& report) const {
  FrameNames names(report);
  std::span<const report::Frame> frames = report.stacks[report.expensive_stack].frames;
  std::vector<std::string> functions;
  for (const report::Frame& frame : frames) functions.push_back(names.NameOf(frame).text);
  std::vector<std::string> significant =
      policies::InnermostSignificant(functions, functions.size(), wait_frames_);
  frames = frames.last(significant.size());

  ClusterPath path;
  for (int level : {1, 2}) {
    Cluster& cluster = path[level - 1];
    size_t size = std::min(policies::FramesOfLevel(level), significant.size());
    cluster.level = level;
    cluster.frames.assign(significant.begin(), significant.begin() + size);
    cluster.key = policies::ClusterKey(level, cluster.frames);
    cluster.via = FindVia(frames, size, &names);
  }
  path[1].parent_key = path[0].key;
  return path;
}

}  // namespace lagwatch::collector
