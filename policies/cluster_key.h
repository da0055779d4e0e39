// SPDX-License-Identifier: Apache-2.0
// What makes two reports the same cause: their innermost significant frames.
// Level 1 is the innermost 2 frames, level 2 the innermost 4, after dropping wait wrappers, so that the code
// that asked for a lock or a file stands first and not the lock function itself. Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::policies {

// Frames of a cluster at `level` 1 or 2.
constexpr size_t FramesOfLevel(int level) { return level == 1 ? 2 : 4; }

// The list of functions that only wait, read from a data file: a function name a line, `*` at its end matches
// any ending, `#` starts a comment.
class WaitFrames {
 public:
  // Error: kInvalid with the line's number.
  static base::Result<WaitFrames> Parse(std::string_view text);
  bool Contains(std::string_view function) const;

 private:
  std::vector<std::string> names_;  // sorted
  std::vector<std::string> prefixes_;
};

// The innermost `count` of `functions` (innermost first) that are not wait wrappers. Wrappers are dropped
// only at the innermost end: further out they are part of the story. When nothing else is left, the stack as
// it is.
std::vector<std::string> InnermostSignificant(std::span<const std::string> functions, size_t count,
                                              const WaitFrames& wait_frames);

// The cluster's key: 16 hexadecimal digits, the same for the same frames and level in every version of
// lagwatch.
std::string ClusterKey(int level, std::span<const std::string> frames);

}  // namespace lagwatch::policies
