// SPDX-License-Identifier: Apache-2.0
// One process that reads symbol files (collector/symbols/worker/symbol_worker.h), and the way to ask it.
// Context: background. One thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

class WorkerProcess {
 public:
  // Runs `program` with that argument, with no descriptors but its socket, and with an empty environment.
  // Errors: kUnavailable.
  static base::Result<std::unique_ptr<WorkerProcess>> Start(const std::string& program,
                                                            const std::string& argument);
  ~WorkerProcess();  // kills it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // The answer to an encoded WorkerRequest. Errors: kUnavailable when it died, kTooLarge when it took or
  // wanted too much; it is of no use then.
  base::Result<std::string> Ask(std::string_view request, std::span<const int> fds,
                                std::chrono::milliseconds timeout);

  bool has_answered() const { return has_answered_; }
  pid_t pid() const { return pid_; }

 private:
  WorkerProcess(pid_t pid, int socket) : pid_(pid), socket_(socket) {}

  pid_t pid_;
  int socket_;
  bool has_answered_ = false;
};

}  // namespace lagwatch::collector
