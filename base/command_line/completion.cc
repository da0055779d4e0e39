// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/completion.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/command_line/command_tree.h"

namespace lagwatch::base {
namespace {

bool IsOption(std::string_view word) { return word.size() > 1 && word.starts_with('-'); }

// A line as far as its last word.
class Place {
 public:
  explicit Place(const CLI::App& app) : command_(&app) {}

  void Take(const std::string& word) {
    if (word == "=") return;  // its value comes next
    if (waiting_ != nullptr) {
      waiting_ = nullptr;
    } else if (!has_ended_options_ && word == "--") {
      has_ended_options_ = true;
    } else if (!has_ended_options_ && IsOption(word)) {
      TakeOption(word);
    } else if (const CLI::App* command = has_ended_options_ ? nullptr : FindCommand(*command_, word)) {
      command_ = command;
      used_.clear();
    } else {
      ++positional_count_;
      has_ended_options_ = has_ended_options_ || command_->get_positionals_at_end();
    }
  }

  const CLI::App& command() const { return *command_; }
  // The option whose value comes next; null without one.
  const CLI::Option* waiting() const { return waiting_; }
  bool has_ended_options() const { return has_ended_options_; }
  // The argument that comes next by its place; null without one.
  const CLI::Option* positional() const {
    const auto positionals = Positionals(*command_);
    if (positional_count_ < positionals.size()) return positionals[positional_count_];
    return !positionals.empty() && TakesSeveral(*positionals.back()) ? positionals.back() : nullptr;
  }
  size_t positional_count() const { return positional_count_; }
  bool IsUsedUp(const CLI::Option& option) const {
    return !TakesSeveral(option) && std::ranges::find(used_, &option) != used_.end();
  }
  const CLI::Option* FindOption(std::string_view name) const {
    for (const CLI::Option* option : AllVisibleOptions(*command_)) {
      const auto names = NamesOf(*option);
      if (std::ranges::find(names, name) != names.end()) return option;
    }
    return nullptr;
  }

 private:
  void TakeOption(std::string_view word) {
    const size_t sign = word.find('=');
    const CLI::Option* option = FindOption(word.substr(0, sign));
    if (option == nullptr) return;
    used_.push_back(option);
    if (TakesValue(*option) && sign == std::string_view::npos) waiting_ = option;
  }

  const CLI::App* command_;
  const CLI::Option* waiting_ = nullptr;
  bool has_ended_options_ = false;
  size_t positional_count_ = 0;
  std::vector<const CLI::Option*> used_;
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

Completion ValuesFor(const CLI::Option& option, const std::string& name, const ValueSource& source,
                     const std::vector<std::string>& line) {
  Completion values;
  for (const std::string& value : ValuesOf(option)) values.candidates.push_back({value});
  return values.candidates.empty() ? source(name, line) : values;
}

std::string ChiefName(const CLI::Option& option) { return NamesOf(option).back(); }

// Puts what is before the value back in front of the candidates.
Completion Prefixed(const std::string& prefix, Completion completion) {
  for (Candidate& candidate : completion.candidates) candidate.word = prefix + candidate.word;
  return completion;
}

void AddOptions(const Place& place, Completion* completion) {
  for (const CLI::Option* option : AllVisibleOptions(place.command())) {
    if (place.IsUsedUp(*option)) continue;
    for (const std::string& name : NamesOf(*option))
      completion->candidates.push_back({name, FirstLine(option->get_description())});
  }
}

void AddCommands(const CLI::App& command, Completion* completion) {
  for (const CLI::App* each : VisibleCommands(command))
    completion->candidates.push_back({each->get_name(), FirstLine(each->get_description())});
}

Completion CompletionsAt(const Place& place, const std::string& word, const ValueSource& source,
                         const std::vector<std::string>& line) {
  if (const CLI::Option* waiting = place.waiting())
    return ValuesFor(*waiting, ChiefName(*waiting), source, line);
  Completion completion;
  if (!place.has_ended_options() && word.starts_with('-')) {
    const size_t sign = word.find('=');
    const CLI::Option* option = sign == std::string::npos ? nullptr : place.FindOption(word.substr(0, sign));
    if (option != nullptr)
      return Prefixed(word.substr(0, sign + 1), ValuesFor(*option, ChiefName(*option), source, line));
    AddOptions(place, &completion);
    return completion;
  }
  if (const CLI::Option* positional = place.positional()) {
    completion = ValuesFor(*positional, positional->get_name(true), source, line);
    // A program's arguments are mostly files.
    if (completion.from_shell == Completion::FromShell::kPrograms && place.positional_count() > 0)
      completion.from_shell = Completion::FromShell::kFiles;
  }
  if (!place.has_ended_options() && place.positional_count() == 0) AddCommands(place.command(), &completion);
  return completion;
}

}  // namespace

Completion Complete(const CLI::App& app, const std::vector<std::string>& line, const ValueSource& source) {
  Place place(app);
  std::string word;
  if (!line.empty()) {
    for (size_t i = 0; i + 1 < line.size(); ++i) place.Take(line[i]);
    word = line.back();
  }
  if (word == "=" && place.waiting() != nullptr) word.clear();
  Completion completion = CompletionsAt(place, word, source, line);
  std::erase_if(completion.candidates,
                [&](const Candidate& candidate) { return !candidate.word.starts_with(word); });
  return completion;
}

std::string ToText(const Completion& completion) {
  std::string text;
  for (const Candidate& candidate : completion.candidates)
    text += candidate.word + "\t" + candidate.meaning + "\n";
  switch (completion.from_shell) {
    case Completion::FromShell::kNothing:
      return text;
    case Completion::FromShell::kFiles:
      return text + ":files\n";
    case Completion::FromShell::kDirectories:
      return text + ":directories\n";
    case Completion::FromShell::kPrograms:
      break;
  }
  return text + ":programs\n";
}

}  // namespace lagwatch::base
