// SPDX-License-Identifier: Apache-2.0
// Computes the identity of a cause: its innermost significant frames, and the owner of the lock. Level 1 is
// the innermost 2 frames, level 2 the innermost 4. docs/design/clusters.md has the reasons, with figures.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/cluster_rules.h"

namespace lagwatch::policies {

// The clustering algorithm; part of each key, so that other algorithms make other clusters.
enum class ClusterBy : uint64_t {
  kRaw = 1,          // the frames as they are, without the waits at the inner end
  kSignificant = 2,  // what follows
};

// Frames of a cluster at `level` 1 or 2.
constexpr size_t FramesOfLevel(int level) { return level == 1 ? 2 : 4; }

// A function of a stack, as the clustering sees it.
struct ClusterFunction {
  std::string_view name;  // normalized for clustering; borrowed, as the names below are
  FrameRole role;
};

// The names of the significant frames of a stack, innermost first, each once: of functions that call each
// other again and again, where they were entered first. Nothing from the innermost end on counts, and of a
// thread in a signal's handler nothing outside of it. Without significant frames, those of libraries. None
// when the stack has neither.
std::vector<std::string_view> SignificantNames(std::span<const ClusterFunction> stack);

// Whether these are the program's own functions, not those of libraries.
bool HasOwnNames(std::span<const ClusterFunction> stack);

// Whether the stack goes out to where the program's part ends.
bool ReachesEnd(std::span<const ClusterFunction> stack);

// The name of a stack without significant frames: its innermost end or, without an end, its innermost frame.
std::vector<std::string_view> NameOfTheRest(std::span<const ClusterFunction> stack);

// A stack that samples of one hang have, and how many one after the other.
struct SeenNames {
  std::vector<std::string_view> names;
  size_t count = 1;
  bool is_cut = false;  // the stack does not go out to its end
};
// Returns `names` without those at the inner end that are in too few of `samples` (oldest first): helpers
// that the hang was in by chance. A helper that took most of the time in one call stays. Returns all if
// nothing would be left. Samples without names do not count.
std::vector<std::string_view> WithoutPassingNames(std::vector<std::string_view> names,
                                                  std::span<const SeenNames> samples);

// Returns `names`, of a stack that was cut, with what called them: of a sample that was not.
std::vector<std::string_view> WithCallersOf(std::vector<std::string_view> names,
                                            std::span<const SeenNames> samples);

// The innermost `count` of `functions` (innermost first) that are not wait wrappers. Wrappers are dropped
// only at the innermost end: further out they are part of the story. When nothing else is left, the stack
// as it is.
std::vector<std::string> InnermostSignificant(std::span<const std::string> functions, size_t count,
                                              const WaitFrames& wait_frames);

// The cluster's key: 16 hexadecimal digits, the same for the same frames, level and lock's owner in every
// version of lagwatch. `held_by` is empty without an owner.
std::string ClusterKey(ClusterBy algorithm, int level, std::span<const std::string> frames,
                       std::span<const std::string> held_by = {});

}  // namespace lagwatch::policies
