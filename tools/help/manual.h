// SPDX-License-Identifier: Apache-2.0
// The pages of lagwatch's manual. Context: background.
#pragma once

#include <string>

#include "base/status.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

// Writes below `directory` a page for each command of `app`, for lagwatchd, for its file of rules, and for
// the variables of the environment. Errors: kIo.
base::Status WriteManual(const CLI::App& app, const std::string& directory);

}  // namespace lagwatch::tools
