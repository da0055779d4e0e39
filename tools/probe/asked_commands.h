// SPDX-License-Identifier: Apache-2.0
// The commands of lagwatch that a script's `dump`, `trace` and `arm` ask for, run beside the console.
// Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "probe/program.h"

namespace lagwatch::tools {

class AskedCommands {
 public:
  AskedCommands(pid_t target, const std::vector<probe::Request>& requests)
      : target_(target), requests_(requests) {}
  // Ends those that run for a time, and waits until all have ended.
  ~AskedCommands();
  AskedCommands(const AskedCommands&) = delete;
  AskedCommands& operator=(const AskedCommands&) = delete;

  // Starts the commands of these requests, a bit each. One that still runs is not started again. They print
  // to this program's stdout and stderr.
  void Start(uint64_t requests);

 private:
  std::vector<std::string> CommandFor(const probe::Request& request) const;

  const pid_t target_;
  const std::vector<probe::Request> requests_;
  std::vector<pid_t> running_;  // of each request; 0: none
};

}  // namespace lagwatch::tools
