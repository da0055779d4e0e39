// SPDX-License-Identifier: Apache-2.0
// Runs a command of lagwatch in a process of its own, for its output. Context: background. Linux.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

struct OwnOutput {
  int exit_code = 0;
  std::string text;  // of both of its streams, at most 1 MiB
};

// Runs `lagwatch` with these arguments, without input. One that takes longer is ended with the processes that
// it has started. Errors: kUnavailable if it cannot be started, was ended by a signal, or took too long.
base::Result<OwnOutput> OutputOfOwn(const std::vector<std::string>& arguments, int64_t limit_ms);

}  // namespace lagwatch::tools
