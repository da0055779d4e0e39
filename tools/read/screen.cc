// SPDX-License-Identifier: Apache-2.0
#include "tools/read/screen.h"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "tools/read/output.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

constexpr int kNotFound = 127;  // sh(1)

std::string TextOfVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// See https://no-color.org.
bool HasColours(const ScreenOptions& options) {
  if (options.color != "auto") return options.color == "always";
  const std::string terminal = TextOfVariable("TERM");
  return isatty(STDOUT_FILENO) != 0 && TextOfVariable("NO_COLOR").empty() && !terminal.empty() &&
         terminal != "dumb";
}

// Empty: none is wanted.
std::string PagerCommand() {
  for (const char* name : {"LAGWATCH_PAGER", "PAGER"}) {
    if (std::getenv(name) == nullptr) continue;
    const std::string command = TextOfVariable(name);
    return command == "cat" ? "" : command;
  }
  return "less";
}

bool IsLongerThanScreen(const std::string& text) {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
    return false;
  return std::ranges::count(text, '\n') >= size.ws_row;
}

// In place of SIG_IGN, which the pager would inherit.
void DoNothing(int /*signal*/) {}

// Returns false if the program is not there. A reader who ends it early has seen enough.
bool PrintByPager(const std::string& command, const std::string& text) {
  setenv("LESS", "FRX", /*overwrite=*/0);  // as git(1) has it: colours, and no other screen
  setenv("LV", "-c", 0);
  // Ctrl-C is for the pager, which goes on.
  const auto interrupt = std::signal(SIGINT, &DoNothing);
  const auto broken = std::signal(SIGPIPE, &DoNothing);
  std::fflush(stdout);
  FILE* const pager = popen(command.c_str(), "w");
  bool has_run = pager != nullptr;
  if (has_run) {
    std::fwrite(text.data(), 1, text.size(), pager);
    const int status = pclose(pager);
    has_run = !WIFEXITED(status) || WEXITSTATUS(status) != kNotFound;
  }
  std::signal(SIGINT, interrupt);
  std::signal(SIGPIPE, broken);
  return has_run;
}

// Calls `paint(line, is_first)` for each line, where the line after an empty one is a first one, too.
template <typename PaintLine>
std::string PaintLines(std::string_view text, const PaintLine& paint) {
  std::string painted;
  for (bool is_first = true; !text.empty();) {
    const std::string_view line = base::TakeUntil('\n', &text);
    painted += line.empty() ? "" : paint(line, is_first);
    painted += "\n";
    is_first = line.empty();
  }
  return painted;
}

}  // namespace

void AddScreenFlags(CLI::App* command, ScreenOptions* options) {
  command->add_option("--color", options->color, "Colours: on a terminal (auto), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->add_flag("--no-pager", options->has_no_pager,
                    "On a terminal, print long output at once, without LAGWATCH_PAGER, PAGER or less");
}

int PrintOnScreen(const std::string& text, const ScreenOptions& options, const Paint& paint) {
  const std::string painted = paint && HasColours(options) ? paint(text) : text;
  const std::string pager =
      options.has_no_pager || !IsLongerThanScreen(text) ? std::string() : PagerCommand();
  if (!pager.empty() && PrintByPager(pager, painted)) return 0;
  return Print(painted);
}

std::string Narrowed(const std::string& text, size_t width, const std::vector<std::string_view>& left_out,
                     const std::string& note) {
  constexpr std::string_view kPurpose = "  # ";
  if (width == 0 || width >= kNarrowWidth) return text;
  std::string narrow;
  std::string_view rest = text;
  bool is_first_part = true, is_title = true, is_left_out = false, has_left_out = false;
  while (!rest.empty()) {
    std::string_view line = base::TakeUntil('\n', &rest);
    if (is_title && !line.empty())
      is_left_out =
          std::ranges::any_of(left_out, [&](std::string_view title) { return line.starts_with(title); });
    has_left_out = has_left_out || is_left_out;
    is_title = line.empty();
    is_first_part = is_first_part && !line.empty();
    if (is_left_out) continue;
    if (const size_t purpose = line.find(kPurpose); purpose != line.npos)
      line = line.substr(0, line.find_last_not_of(' ', purpose) + 1);
    const bool is_sentence = is_first_part && !line.starts_with(' ');
    narrow += (is_sentence ? Wrapped(line, width, 2) : CutTo(width, std::string(line))) + "\n";
  }
  while (has_left_out && narrow.ends_with("\n\n")) narrow.pop_back();
  return narrow + (has_left_out ? "\n" + Wrapped(note, width, 0) + "\n" : "");
}

std::string Inked(Ink ink, std::string_view text) {
  constexpr const char* kCodes[] = {"1", "32", "33", "31"};
  return "\x1b[" + std::string(kCodes[static_cast<size_t>(ink)]) + "m" + std::string(text) + "\x1b[0m";
}

std::string PaintTables(std::string_view text) {
  return PaintLines(text, [](std::string_view line, bool is_first) {
    return is_first ? Inked(Ink::kBold, line) : std::string(line);
  });
}

std::string PaintReport(std::string_view text) {
  return PaintLines(text, [](std::string_view line, bool) {
    if (!line.starts_with(' ') || line.starts_with("  verdict")) return Inked(Ink::kBold, line);
    return line.starts_with("  deadlock") ? Inked(Ink::kRed, line) : std::string(line);
  });
}

}  // namespace lagwatch::tools
