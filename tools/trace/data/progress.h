// SPDX-License-Identifier: Apache-2.0
// A progress line on the terminal; nothing if standard error is not a terminal. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lagwatch::tools {

class Progress {
 public:
  Progress();
  // Wipes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A bar, at most ten times a second and at the end.
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
