// SPDX-License-Identifier: Apache-2.0
// Other programs, run by tests.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace lagwatch::testing {

// A running program with its standard streams in files of its own; killed at the end if it still runs.
class Process {
 public:
  // `arguments` begin with the program. `environment` are "NAME=value" additions to this process's own.
  explicit Process(std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void WriteInput(const std::string& text);
  void CloseInput();
  void Signal(int signal_number);
  // Returns the exit code, or minus the signal that ended it, which no test may leave unseen.
  [[nodiscard]] int Wait();
  // The output so far.
  std::string Output() const;
  std::string Errors() const;

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool is_over_ = false;
  int input_fd_ = -1;
  int output_fd_ = -1;
  int errors_fd_ = -1;
};

// Waits for `condition`, looking again and again; false when it does not hold within `timeout_s`.
bool WaitUntil(const std::function<bool()>& condition, double timeout_s = 20);

}  // namespace lagwatch::testing
