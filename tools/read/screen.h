// SPDX-License-Identifier: Apache-2.0
// Text for people on a terminal: with colours, and page by page if it is longer than the screen. In a pipe or
// a file it is as it is, byte for byte. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace lagwatch::tools {

struct ScreenOptions {
  std::string color = "auto";  // or "always", "never"
  bool has_no_pager = false;
};

// Declares --color and --no-pager. `options` must outlive the parsing.
void AddScreenFlags(CLI::App* command, ScreenOptions* options);

// Adds colours to a text, as escape sequences of terminals.
using Paint = std::function<std::string(std::string_view text)>;

// Prints `text` on stdout: painted by `paint` (empty: not at all) where colours are wanted. If stdout is a
// terminal that has fewer lines, by the program that LAGWATCH_PAGER or PAGER name, or by less, until the
// reader ends that. Returns the command's exit code.
int PrintOnScreen(const std::string& text, const ScreenOptions& options, const Paint& paint = {});

enum class Ink : uint8_t { kBold, kGreen, kYellow, kRed };
std::string Inked(Ink ink, std::string_view text);

// Titles of tables: the first line, and each line after an empty one.
std::string PaintTables(std::string_view text);
// Titles of a report's parts, its verdict, and deadlocks.
std::string PaintReport(std::string_view text);

}  // namespace lagwatch::tools
