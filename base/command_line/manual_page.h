// SPDX-License-Identifier: Apache-2.0
// Pages of the manual (man(7)), of texts and of commands. Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace lagwatch::base {

struct ManualTitle {
  std::string name;     // "lagwatch-run"
  int section = 1;      // of the manual
  std::string summary;  // one line
  std::string release;  // the program and its version
  std::string date;     // "2026-11-30"
};

// The text of one page, as it grows. Texts are plain; `code` begins with bold type.
class ManualPage {
 public:
  explicit ManualPage(const ManualTitle& title);

  void Section(std::string_view name);
  void Subsection(std::string_view name);
  // A line of a synopsis, whose beginning is bold.
  void Synopsis(std::string_view bold, std::string_view plain);
  void Paragraph(std::string_view text);
  // A term of a list, "--output FILE", of which the first word is bold and the rest is not, and its meaning.
  void Term(std::string_view bold, std::string_view plain, std::string_view meaning);
  // Lines as they are.
  void Literal(std::string_view lines);
  // Paragraphs, where lines that begin with two blanks stay as they are.
  void Prose(std::string_view text);
  // "lagwatch(1)", …
  void References(const std::vector<std::string>& pages);

  const std::string& text() const { return text_; }

 private:
  void BeginParagraph();

  std::string text_;
  bool is_at_heading_ = false;
};

// A code of a command's exit, and what it means.
using ExitCodeTerm = std::pair<std::string, std::string>;

// The page of a command with its subcommands; `line` is what calls it: "lagwatch run".
std::string PageOfCommand(const CLI::App& command, const std::string& line, const ManualTitle& title,
                          const std::vector<std::string>& references,
                          const std::vector<ExitCodeTerm>& exit_codes = {});

// The present day, or that of SOURCE_DATE_EPOCH, as pages have it.
std::string ManualDate();

}  // namespace lagwatch::base
