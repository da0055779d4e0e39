// SPDX-License-Identifier: Apache-2.0
// The facts about a core file that an explanation of its process needs: the reason why it was written, and
// the files that could not be used. Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lagwatch::tools {

class CoreProcess;

// The signal that a process has ended by.
struct CoreEnd {
  int32_t tid = 0;       // the thread that got it
  std::string signal;    // "SIGSEGV"
  std::string detail;    // "an access to address 0x8, where there is no memory"; may be empty
  bool is_sent = false;  // by another process, so that the thread has no part in it
  int32_t sender = 0;    // that process; 0: not known
};

struct CoreOrigin {
  std::string file;
  std::string program;              // its path on this machine; may be empty
  std::string arguments;            // the first 79 bytes of the command line
  std::optional<CoreEnd> end;       // none: the core is a snapshot (gcore) of a process that went on
  std::vector<std::string> unused;  // "/usr/bin/x is another build …", of each module that is not read

  // Whether a fault or an abort of its own has ended it.
  bool HasCrashed() const { return end && !end->is_sent; }
};

CoreOrigin OriginOf(const std::string& path, const CoreProcess& process);

}  // namespace lagwatch::tools
