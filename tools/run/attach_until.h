// SPDX-License-Identifier: Apache-2.0
// The end of `lagwatch attach --until`. Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

struct AttachEnd {
  enum class EndKind : uint8_t { kNone, kHang, kExit, kTime };

  EndKind kind = EndKind::kNone;
  int64_t after_ns = 0;  // kTime

  // "hang", "exit", or a number with s, m or h. Errors: kInvalid.
  static base::Result<AttachEnd> Parse(const std::string& text);
};

// Returns true when the process has ended; false at the end that was chosen, or at SIGINT or SIGTERM, which
// must be blocked. A hang is over, or lasts for 10 s after its report. `spool_directory` holds the process's
// reports.
bool AwaitAttachEnd(pid_t pid, const AttachEnd& end, const std::string& spool_directory);

}  // namespace lagwatch::tools
