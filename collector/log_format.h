// SPDX-License-Identifier: Apache-2.0
// The format of the collector's log. Context: background.
#pragma once

namespace lagwatch::collector {

enum class LogFormat { kText, kJson };

// To stderr, from now on: lines for people, or an object a line, {"time", "level", "message"}.
void SetUpLog(LogFormat format);

}  // namespace lagwatch::collector
