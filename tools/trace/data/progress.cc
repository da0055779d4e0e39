// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/progress.h"

#include <unistd.h>

#include <iostream>

#include "base/clock.h"

namespace lagwatch::tools {

Progress::Progress() : is_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (has_printed_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::Show(const std::string& what, size_t done, size_t total) {
  constexpr size_t kWidth = 30;
  if (!IsDue() || total == 0) return;
  const size_t filled = done * kWidth / total;
  Print(what + " [" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " +
        std::to_string(done * 100 / total) + " %");
}

void Progress::Say(const std::string& line) {
  if (IsDue()) Print(line);
}

bool Progress::IsDue() {
  constexpr int64_t kPeriodNs = 100 * base::kNsPerMs;
  if (!is_terminal_) return false;
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (now_ns - last_ns_ < kPeriodNs) return false;
  last_ns_ = now_ns;
  return true;
}

void Progress::Print(const std::string& line) {
  std::cerr << "\r" << line << "\x1b[K" << std::flush;
  has_printed_ = true;
}

}  // namespace lagwatch::tools
