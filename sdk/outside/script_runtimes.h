// SPDX-License-Identifier: Apache-2.0
// The run times of scripts and managed code in another process, as far as their frames can be read. Context:
// background. Linux.
#pragma once

#include <string>
#include <vector>

#include "base/process/process.h"

namespace lagwatch::sdk {

struct ScriptRuntimes {
  std::vector<std::string> readable;  // languages, such as "python"; sorted
  std::string unreadable;  // the first run time whose frames stay native: "python 3.14"; may be empty
};

// Looks at the modules that `process` has loaded now. Finds nothing where this user may not look into it.
ScriptRuntimes FindScriptRuntimes(const base::Process& process);

}  // namespace lagwatch::sdk
