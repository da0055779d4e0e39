// SPDX-License-Identifier: Apache-2.0
#include "collector/cluster/clusterer.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/hash.h"
#include "base/process/env.h"
#include "collector/cluster/named_stacks.h"

namespace lagwatch::collector {
namespace {

using policies::ClusterBy;

constexpr size_t kHolderFrames = 1;
// One more at each change of what a report's clusters depend on, besides the rules.
constexpr int kAlgorithmVersion = 2;

using Names = std::vector<std::string>;

Names First(const Names& names, size_t count) {
  return {names.begin(), names.begin() + static_cast<ptrdiff_t>(std::min(count, names.size()))};
}

// A frame's innermost function. Frames that a compiler made up have none.
NamedFrame FirstNameOf(const report::Frame& frame, const FrameNamer& namer) {
  std::vector<NamedFrame> names = namer.NamesOf(frame);
  if (names.empty()) return {.function = "[synthesized]", .origin = NameOrigin::kPlace};
  return std::move(names.front());
}

// `frames` is the stack from the cluster's first frame on.
std::string FindVia(std::span<const report::Frame> frames, size_t cluster_size, const FrameNamer& namer) {
  auto name = [&](const report::Frame& frame) { return FirstNameOf(frame, namer); };
  auto named = std::find_if(frames.begin(), frames.end(),
                            [&](const auto& each) { return name(each).origin != NameOrigin::kPlace; });
  bool is_beyond = named != frames.end() && static_cast<size_t>(named - frames.begin()) >= cluster_size;
  return is_beyond ? name(*named).function : "";
}

ClusterPath PathOf(ClusterBy by, const Names& names, const Names& held_by) {
  ClusterPath path;
  for (int level : {1, 2}) {
    Cluster& cluster = path[static_cast<size_t>(level) - 1];
    cluster.level = level;
    cluster.frames = First(names, policies::FramesOfLevel(level));
    cluster.held_by = held_by;
    cluster.key = policies::ClusterKey(by, level, cluster.frames, held_by);
  }
  path[1].parent_key = path[0].key;
  return path;
}

// A cluster's key is of the whole names; stored and listed names are shortened for people.
ClusterPath WithShortNames(ClusterPath path) {
  constexpr size_t kMostNameBytes = 4096;
  const auto cut = [](std::string* name) {
    if (name->size() > kMostNameBytes) name->resize(kMostNameBytes);
  };
  for (Cluster& cluster : path) {
    for (std::string& name : cluster.frames) cut(&name);
    for (std::string& name : cluster.held_by) cut(&name);
    cut(&cluster.via);
  }
  return path;
}

ClusterPath AssignRaw(const report::Report& report, const FrameNamer& namer,
                      const policies::WaitFrames& wait_frames) {
  std::span<const report::Frame> frames = report.stacks[report.expensive_stack].frames;
  Names functions;
  for (const report::Frame& frame : frames) functions.push_back(FirstNameOf(frame, namer).function);
  const Names names = policies::InnermostSignificant(functions, functions.size(), wait_frames);
  ClusterPath path = PathOf(ClusterBy::kRaw, names, {});
  for (Cluster& cluster : path)
    cluster.via = FindVia(frames.last(names.size()), cluster.frames.size(), namer);
  return WithShortNames(std::move(path));
}

base::Result<std::string> ReadRules(const std::filesystem::path& file) {
  std::string text;
  if (int error = base::SystemEnv().ReadAll(file, &text))
    return base::IoError("cannot read the cluster rules " + file.string(), error);
  return text;
}

uint64_t VersionOf(ClusterBy by, std::string_view rules_text) {
  return base::HashBytes(std::to_string(kAlgorithmVersion) + " " + std::to_string(static_cast<int>(by)) +
                         " " + std::string(rules_text));
}

// In the order of their names.
base::Result<std::vector<std::filesystem::path>> RuleFiles(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::filesystem::path>{path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  if (files.empty())
    return base::Status(base::StatusCode::kInvalid, "no cluster rules (files ending in .txt) in " + path);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

base::Result<Clusterer> Clusterer::Create(const std::string& rules_path, ClusterBy by) {
  policies::ClusterRules rules;
  if (rules_path.empty()) {
    if (base::Status added = rules.Add(DefaultClusterRules()); !added.ok()) return added;
    return Clusterer(std::move(rules), by, VersionOf(by, DefaultClusterRules()));
  }
  auto files = LAGWATCH_TRY(RuleFiles(rules_path));
  std::string all;
  for (const std::filesystem::path& file : files) {
    auto text = LAGWATCH_TRY(ReadRules(file));
    if (base::Status added = rules.Add(text); !added.ok())
      return base::Status(added.code(), "cluster rules " + file.string() + ", " + added.message());
    all += text;
  }
  return Clusterer(std::move(rules), by, VersionOf(by, all));
}

ClusterPath Clusterer::Assign(const report::Report& report) const {
  return Assign(report, ReportNamer(report));
}

ClusterPath Clusterer::Assign(const report::Report& report, const FrameNamer& namer) const {
  if (by_ == ClusterBy::kRaw) return AssignRaw(report, namer, rules_.waits());
  const NamedStacks stacks(report, namer, rules_);
  ClusterPath path = PathOf(by_, stacks.CauseNames(), First(stacks.HolderNames(), kHolderFrames));
  for (Cluster& cluster : path) cluster.via = stacks.FindVia(cluster.frames);
  return WithShortNames(std::move(path));
}

}  // namespace lagwatch::collector
