// SPDX-License-Identifier: Apache-2.0
// The output of commands. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace lagwatch::tools {

// Prints "lagwatch: MESSAGE" on stderr. Returns 1, for the command's exit code.
int Fail(const std::string& message);
// Prints `text` on stdout. Returns the command's exit code.
int Print(const std::string& text);
// Asks the user on the terminal; false without one, and for every answer but "y" and "yes".
bool IsAnsweredYes(const std::string& question);
// Returns what `show` does, which reads a collector's answer; fails if the answer has another format.
int ShowAnswer(const std::function<int()>& show);
// Characters in a line of the terminal; 0 when stdout is no terminal.
size_t TerminalWidth();

// A progress line on the terminal; nothing if standard error is not a terminal.
class Progress {
 public:
  Progress();
  // Wipes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A bar, at most ten times a second.
  void Show(const std::string& what, size_t done, size_t total);
  // A line as it is, at most ten times a second.
  void Say(const std::string& line);

 private:
  bool IsDue();
  void Print(const std::string& line);

  bool is_terminal_;
  bool has_printed_ = false;
  int64_t last_ns_ = 0;
};

}  // namespace lagwatch::tools
