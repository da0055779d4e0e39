// SPDX-License-Identifier: Apache-2.0
// Names the tags of dispatches that are functions: places in a module, "editor+0x1f".
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "trace/model/trace.h"

namespace lagwatch::trace {

// Adds a frame for each such tag to the trace, for as long as its frames are named.
class TagFrames {
 public:
  // Borrows `trace`, which gets the frames at its end.
  explicit TagFrames(Trace* trace);
  // Gives each tag whose frame has a name by now that name, and removes the frames.
  void Apply();

 private:
  Trace* trace_;
  size_t first_;                            // of the frames that were added
  std::map<std::string, uint32_t> by_tag_;  // indices of frames
};

}  // namespace lagwatch::trace
