// SPDX-License-Identifier: Apache-2.0
// A program on a terminal of its own, of which a test is the screen and the keyboard.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::testing {

// Killed at the end if it still runs.
class TerminalProcess {
 public:
  // `environment` are "NAME=value" additions to this process's own.
  explicit TerminalProcess(std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~TerminalProcess();
  TerminalProcess(const TerminalProcess&) = delete;
  TerminalProcess& operator=(const TerminalProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Press(const std::string& keys);
  void Resize(uint16_t lines, uint16_t columns);
  void Signal(int signal_number);
  // Takes the terminal away, as closing its window does.
  void HangUp();
  // The exit code, or minus the signal that ended it.
  int Wait();

  // Everything that was written to the terminal so far.
  const std::string& Written();
  // The last page drawn, without colours.
  std::string Screen();
  // Whether typed text is echoed and edited in whole lines, as in a shell.
  bool IsUsual() const;

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  int status_ = 0;
  bool is_over_ = false;
  std::string written_;
};

}  // namespace lagwatch::testing
