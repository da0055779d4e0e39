// SPDX-License-Identifier: Apache-2.0
#include "tools/read/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "tools/read/table.h"

namespace lagwatch::tools {

int Fail(const std::string& message) {
  std::fprintf(stderr, "lagwatch: %s\n", Printable(message).c_str());
  return 1;
}

int Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : Fail("cannot write to stdout");
}

bool IsAnsweredYes(const std::string& question) {
  if (isatty(STDIN_FILENO) != 1) return false;
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

int ShowAnswer(const std::function<int()>& show) {
  try {
    return show();
  } catch (const nlohmann::json::exception& error) {
    return Fail(std::string("the collector's answer has an unknown format; update lagwatch: ") +
                error.what());
  }
}

size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

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
