// SPDX-License-Identifier: Apache-2.0
// Gives a trace's frames the names that this machine's files know. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "stack/elf/local_symbols.h"
#include "trace/model/trace.h"

namespace lagwatch::tools {

// Remembers found and missing names, for traces of the same modules.
class FrameNamer {
 public:
  // Frames that have names keep them; frames of unknown places get none. `progress` is called now and then
  // with the number of frames done and of all frames; may be empty.
  void Name(trace::Trace* trace, const std::function<void(size_t, size_t)>& progress = {});

 private:
  const std::string& NameOf(const trace::Module& module, uint64_t offset);

  stack::LocalSymbols symbols_;
  std::map<std::tuple<std::string, std::string, uint64_t>, std::string> names_;  // empty: there is none
};

// The same, once.
void NameFrames(trace::Trace* trace, const std::function<void(size_t, size_t)>& progress = {});

}  // namespace lagwatch::tools
