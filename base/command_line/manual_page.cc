// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/manual_page.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/command_line/command_tree.h"
#include "base/text.h"

namespace lagwatch::base {
namespace {

// The next character of a text in UTF-8, which it leaves out of the text.
uint32_t TakeCharacter(std::string_view* text) {
  const auto first = static_cast<unsigned char>(text->front());
  const size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  uint32_t character = size == 1 ? first : first & (0xffU >> (size + 1));
  for (size_t i = 1; i < std::min(size, text->size()); ++i)
    character = character << 6 | (static_cast<unsigned char>((*text)[i]) & 0x3fU);
  text->remove_prefix(std::min(size, text->size()));
  return character;
}

// Characters that mean something to troff, and those beyond ASCII, as its escapes. A dash is the one that
// people type, so that it can be copied.
std::string Escaped(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const uint32_t character = TakeCharacter(&text);
    if (character == '\\') {
      escaped += "\\e";
    } else if (character == '-') {
      escaped += "\\-";
    } else if (character == '\'') {
      escaped += "\\(aq";
    } else if (character == '`') {
      escaped += "\\(ga";
    } else if (character == '^') {
      escaped += "\\(ha";
    } else if (character == '~') {
      escaped += "\\(ti";
    } else if (character == 0x2026) {
      escaped += "...";
    } else if ((character == '@' || character == ',') && !text.empty() && text.front() != ' ') {
      escaped.append(1, static_cast<char>(character)).append("\\:");  // a long word may be broken here
    } else if (character < 0x80) {
      escaped += static_cast<char>(character);
    } else {
      char name[16];
      std::snprintf(name, sizeof name, "\\[u%04X]", character);
      escaped += name;
    }
  }
  return escaped;
}

// A line that does not look like a request to troff.
std::string LineOf(std::string_view text) {
  const std::string escaped = Escaped(text);
  return (escaped.starts_with('.') ? "\\&" : "") + escaped + "\n";
}

std::string InBold(std::string_view text) { return text.empty() ? "" : "\\fB" + Escaped(text) + "\\fR"; }

// An argument of a request.
std::string Quoted(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '"');
  return "\"" + Escaped(plain) + "\"";
}

std::string WithStop(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  const bool is_ended =
      trimmed.empty() || std::string_view(".?!:").find(trimmed.back()) != std::string_view::npos;
  return std::string(trimmed) + (is_ended ? "" : ".");
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return upper;
}

// "PID", "COMMAND...", "[PATH]".
std::string ArgumentText(const CLI::Option& positional) {
  const std::string name = Upper(positional.get_name(true)) + (TakesSeveral(positional) ? " ..." : "");
  return positional.get_required() ? name : "[" + name + "]";
}

std::string MeaningOf(const CLI::Option& option) {
  std::string meaning = WithStop(option.get_description());
  if (const std::string range = RangeOf(option); !range.empty()) meaning += " From " + range + ".";
  if (const std::string standard = option.get_default_str(); !standard.empty())
    meaning += " Default: " + standard + ".";
  if (!option.get_envname().empty()) meaning += " Environment: " + option.get_envname() + ".";
  if (option.get_required() && option.nonpositional()) meaning += " Required.";
  return meaning;
}

std::string ValueText(const CLI::Option& option) {
  if (!TakesValue(option)) return "";
  std::string values;
  for (const std::string& value : ValuesOf(option)) values += (values.empty() ? "" : "|") + value;
  return " " + (values.empty() ? TypeOf(option) : values);
}

void AddOptions(const std::vector<const CLI::Option*>& options, ManualPage* page) {
  for (const CLI::Option* option : options) {
    std::string names;
    for (const std::string& name : NamesOf(*option)) names += (names.empty() ? "" : ", ") + name;
    page->Term(names, ValueText(*option), MeaningOf(*option));
  }
}

std::string ArgumentsText(const CLI::App& command) {
  std::string text = AllVisibleOptions(command).empty() ? "" : " [OPTIONS]";
  if (!VisibleCommands(command).empty())
    text += command.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
  for (const CLI::Option* positional : Positionals(command)) text += " " + ArgumentText(*positional);
  return text;
}

void AddSynopsis(const CLI::App& command, const std::string& line, ManualPage* page) {
  page->Synopsis(line, ArgumentsText(command));
  for (const CLI::App* each : VisibleCommands(command))
    AddSynopsis(*each, line + " " + each->get_name(), page);
}

void AddArguments(const CLI::App& command, ManualPage* page) {
  for (const CLI::Option* positional : Positionals(command)) {
    if (positional->nonpositional()) continue;
    page->Term(Upper(positional->get_name(true)), "", MeaningOf(*positional));
  }
  AddOptions(VisibleOptions(command), page);
  for (const CLI::App* group : OptionGroups(command)) {
    page->Subsection(group->get_description());
    AddOptions(VisibleOptions(*group), page);
  }
}

void AddCommands(const CLI::App& command, const std::string& line, ManualPage* page) {
  for (const CLI::App* each : VisibleCommands(command)) {
    const std::string own_line = line + " " + each->get_name();
    page->Subsection(own_line);
    page->Paragraph(WithStop(each->get_description()));
    page->Prose(each->get_footer());
    AddArguments(*each, page);
    AddCommands(*each, own_line, page);
  }
}

}  // namespace

ManualPage::ManualPage(const ManualTitle& title) {
  text_ = ".\\\" Written from the program's own help: do not edit.\n.TH " + Quoted(Upper(title.name)) + " " +
          std::to_string(title.section) + " \"" + title.date + "\" " + Quoted(title.release) +
          " \"lagwatch\"\n.ad l\n.nh\n.SH NAME\n" + Escaped(title.name) + " \\- " + Escaped(title.summary) +
          "\n";
}

void ManualPage::Section(std::string_view name) {
  text_ += ".SH " + Quoted(Upper(name)) + "\n";
  is_at_heading_ = true;
}

void ManualPage::Subsection(std::string_view name) {
  text_ += ".SS " + Quoted(name) + "\n";
  is_at_heading_ = true;
}

void ManualPage::BeginParagraph() {
  if (!std::exchange(is_at_heading_, false)) text_ += ".PP\n";
}

void ManualPage::Synopsis(std::string_view bold, std::string_view plain) {
  if (!std::exchange(is_at_heading_, false)) text_ += ".br\n";
  text_ += InBold(bold) + Escaped(plain) + "\n";
}

void ManualPage::Paragraph(std::string_view text) {
  BeginParagraph();
  while (!text.empty()) text_ += LineOf(Trimmed(TakeUntil('\n', &text)));
}

void ManualPage::Term(std::string_view bold, std::string_view plain, std::string_view meaning) {
  is_at_heading_ = false;
  text_ += ".TP\n" + InBold(bold) + Escaped(plain) + "\n" + LineOf(WithStop(meaning));
}

void ManualPage::Literal(std::string_view lines) {
  BeginParagraph();
  text_ += ".RS 2\n.nf\n";
  while (!lines.empty()) {
    const std::string_view line = TakeUntil('\n', &lines);
    text_ += line.empty() ? "\\&\n" : LineOf(line);
  }
  text_ += ".fi\n.RE\n";
}

void ManualPage::Prose(std::string_view text) {
  std::string paragraph;
  std::string literal;
  const auto flush = [&] {
    if (!paragraph.empty()) Paragraph(paragraph);
    if (!literal.empty()) Literal(literal);
    paragraph.clear();
    literal.clear();
  };
  while (!text.empty()) {
    std::string_view line = TakeUntil('\n', &text);
    const bool is_literal = line.starts_with("  ");
    if (Trimmed(line).empty() || is_literal != !literal.empty()) flush();
    if (Trimmed(line).empty()) continue;
    if (is_literal) line.remove_prefix(2);
    (is_literal ? literal : paragraph).append(line).append("\n");
  }
  flush();
}

void ManualPage::References(const std::vector<std::string>& pages) {
  Section("See also");
  std::string list;
  for (const std::string& page : pages) {
    const size_t at = page.find('(');
    list += (list.empty() ? "" : ",\n") + InBold(page.substr(0, at)) + Escaped(page.substr(at));
  }
  text_ += list + "\n";
}

std::string PageOfCommand(const CLI::App& command, const std::string& line, const ManualTitle& title,
                          const std::vector<std::string>& references,
                          const std::vector<ExitCodeTerm>& exit_codes) {
  ManualPage page(title);
  page.Section("Synopsis");
  AddSynopsis(command, line, &page);
  page.Section("Description");
  page.Paragraph(WithStop(command.get_description()));
  page.Prose(command.get_footer());
  page.Section("Options");
  AddArguments(command, &page);
  if (!VisibleCommands(command).empty()) page.Section("Commands");
  AddCommands(command, line, &page);
  if (!exit_codes.empty()) page.Section("Exit status");
  for (const auto& [code, meaning] : exit_codes) page.Term(code, "", meaning);
  page.References(references);
  return page.text();
}

std::string ManualDate() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  const auto given_s = ParseNumber<int64_t>(epoch == nullptr ? "" : epoch);
  return UtcText(given_s ? *given_s * 1000 : SystemClock().WallMs(), "%Y-%m-%d");
}

}  // namespace lagwatch::base
