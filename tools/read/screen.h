// SPDX-License-Identifier: Apache-2.0
// Text for people on a terminal: with colours, and page by page if it is longer than the screen. In a pipe or
// a file it is as it is, byte for byte. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

// A text for a terminal of `width` characters; as it is where that is kNarrowWidth or more, or 0. On a narrow
// one, sentences of the first part are broken at blanks, and other lines are cut. Parts whose titles begin
// with one of `left_out` are left out, and `note` is the last line then. Parts have empty lines between them;
// the first line is the title.
inline constexpr size_t kNarrowWidth = 76;
std::string Narrowed(const std::string& text, size_t width, const std::vector<std::string_view>& left_out,
                     const std::string& note);

enum class Ink : uint8_t { kBold, kGreen, kYellow, kRed };
std::string Inked(Ink ink, std::string_view text);

// Titles of tables: the first line, and each line after an empty one.
std::string PaintTables(std::string_view text);
// Titles of a report's parts, its verdict, and deadlocks.
std::string PaintReport(std::string_view text);

}  // namespace lagwatch::tools
