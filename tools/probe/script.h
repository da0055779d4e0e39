// SPDX-License-Identifier: Apache-2.0
// The script of a command line, made ready for a process. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "probe/program.h"
#include "sdk/probe/probe_messages.h"
#include "tools/probe/process_functions.h"

namespace lagwatch::tools {

struct Script {
  std::string title;
  std::string text;
};

// A file (NAME.lwp), one of those that come with lagwatch, whose arguments follow, or the text itself.
// Errors: kNotFound, kInvalid.
base::Result<Script> FindScript(const std::vector<std::string>& words);
// A line for each script that comes with lagwatch.
std::string ListScripts();

// A script's program, checked as the process will check it again, and the functions that it is at.
struct PreparedScript {
  probe::Program program;
  std::vector<sdk::ProbeSiteAt> sites;
  int64_t hit_cost_ns = 0;  // estimated, of the dearest probe's longest way
};
// Errors: kInvalid, kNotFound and kTooLarge, with line and column.
base::Result<PreparedScript> PrepareScript(const Script& script, ProcessFunctions* functions);

}  // namespace lagwatch::tools
