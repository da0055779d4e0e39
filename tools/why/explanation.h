// SPDX-License-Identifier: Apache-2.0
// The answer to "why does this process not respond": one sentence, the evidence, and what to do next.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/moment/process_moment.h"
#include "tools/core/core_origin.h"
#include "tools/read/endpoint.h"
#include "tools/why/thread_groups.h"

namespace lagwatch::tools {

struct Explanation {
  int64_t pid = 0;
  std::string process;  // its name
  sdk::Standing standing = sdk::Standing::kResponds;
  std::string sentence;           // without the process's name, and without its end
  std::vector<std::string> next;  // lines to type, each with what it is for
  Json report;                    // as the API returns it; null of a process that is dead or stopped
  std::vector<ThreadGroup> groups;
  std::optional<CoreOrigin> core;  // of a process that is in a core file only
};

// Explains `moment`, whose report is `report`. `core` is where it is from, if it is from a core file: of such
// a moment no times are said, and nothing that only the kernel knew.
Explanation Explain(const sdk::ProcessMoment& moment, Json report, std::optional<CoreOrigin> core = {});

// For people. `shows_all`: also idle threads and all facts. The sentence is broken into lines of `width`
// characters; 0: it is one line. For programs.
std::string ToText(const Explanation& explanation, bool shows_all, size_t width = 0);
// Such texts with the colours of a terminal: titles, and how each process stands.
std::string PaintExplanations(std::string_view text);
Json ToJson(const Explanation& explanation);

}  // namespace lagwatch::tools
