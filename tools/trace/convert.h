// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace convert`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lagwatch::tools {

struct ConvertOptions {
  std::string input;
  std::string output;  // empty: the input's name with the format's ending; "-": standard output
  std::string format;  // empty: as the output's name says
  std::optional<int32_t> tid;
};

// Returns the exit code; errors are printed on standard error.
int ConvertTrace(const ConvertOptions& options);

}  // namespace lagwatch::tools
