// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace show`.
#pragma once

#include <cstddef>
#include <string>

namespace lagwatch::tools {

struct ShowOptions {
  std::string input;
  size_t lines = 20;
  std::string sort = "self";  // or "total"
};

// Returns the exit code; errors are printed on standard error.
int ShowTrace(const ShowOptions& options);

}  // namespace lagwatch::tools
