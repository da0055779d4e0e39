// SPDX-License-Identifier: Apache-2.0
// Runs a command for a limited time, as timeout(1) does. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

// The exit code of a command that was ended because its time was over, as timeout(1) has it.
inline constexpr int kTimedOut = 124;

// "90", "90s", "5m", "1h" in milliseconds; none of another text, nor of no time.
std::optional<int64_t> ParseDuration(const std::string& text);

// Runs `command` with this process's files, and returns its exit code, 128 and the signal's number of one
// that a signal has ended. If it has not ended after `timeout_ms`, calls `explain` with its processes, the
// command first and then those that it has started, ends all of them by SIGTERM, and by SIGKILL after five
// seconds, and returns kTimedOut. SIGINT and SIGTERM are passed on to the command. Errors: kNotFound,
// kUnavailable.
base::Result<int> RunFor(const std::vector<std::string>& command, int64_t timeout_ms,
                         const std::function<void(const std::vector<pid_t>&)>& explain);

}  // namespace lagwatch::tools
