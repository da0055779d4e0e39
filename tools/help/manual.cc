// SPDX-License-Identifier: Apache-2.0
#include "tools/help/manual.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command_line/command_tree.h"
#include "base/command_line/help_command.h"
#include "base/command_line/manual_page.h"
#include "tools/schema/exit_codes.h"
#include "tools/schema/flag_names.h"
#include "tools/schema/option_rows.h"
#include "tools/watch/watch_rules.h"

namespace lagwatch::tools {
namespace {

using base::ManualPage;
using base::ManualTitle;

constexpr char kService[] = "daemon";  // the command that is lagwatchd

// Whether a file of rules may have it: no function of a program's, for example.
bool IsRulesOption(const OptionRow& row) {
  constexpr std::array<std::string_view, 3> kTypes = {"const char*", "uint32_t", "int32_t"};
  return std::ranges::find(kTypes, row.c_type) != kTypes.end() &&
         std::ranges::find(kNoRulesOptions, row.name) == std::end(kNoRulesOptions);
}

std::vector<base::ExitCodeTerm> ExitTerms(const std::string& command) {
  std::vector<base::ExitCodeTerm> terms;
  for (const ExitCodeRow& row : ExitCodesOf(command)) terms.emplace_back(row.code, row.meaning);
  return terms;
}

class ManualWriter {
 public:
  ManualWriter(const CLI::App& app, std::string directory)
      : app_(app), directory_(std::move(directory)), date_(base::ManualDate()) {}

  base::Status Write() const {
    std::vector<base::Status> written = {WriteOverview(), WriteService(), WriteRules(), WriteEnvironment()};
    for (const CLI::App* command : base::VisibleCommands(app_))
      if (command->get_name() != kService) written.push_back(WriteCommand(*command));
    const auto failed =
        std::ranges::find_if(written, [](const base::Status& status) { return !status.ok(); });
    return failed == written.end() ? base::Status() : *failed;
  }

 private:
  ManualTitle Title(const std::string& name, int section, const std::string& summary) const {
    return {.name = name, .section = section, .summary = summary, .release = app_.version(), .date = date_};
  }
  base::Status WritePage(const ManualTitle& title, const std::string& text) const {
    const std::string section = std::to_string(title.section);
    return base::WriteTextFile(directory_ + "/man" + section + "/" + title.name + "." + section, text);
  }

  base::Status WriteOverview() const {
    const ManualTitle title = Title("lagwatch", 1, "find the code that froze a program");
    ManualPage page(title);
    page.Section("Synopsis");
    page.Synopsis("lagwatch", " COMMAND [OPTIONS]");
    page.Synopsis("lagwatch --version", "");
    page.Section("Description");
    page.Paragraph(app_.get_description());
    page.Section("Commands");
    for (const CLI::App* command : base::VisibleCommands(app_))
      page.Term("lagwatch " + command->get_name(), "", command->get_description());
    page.Section("Exit status");
    for (const auto& [code, meaning] : ExitTerms("")) page.Term(code, "", meaning);
    page.Paragraph("The pages of commands have their own codes; `lagwatch help exit-codes` lists all.");
    page.Section("Files");
    page.Term("~/.local/state/lagwatch/spool", "", "The spool directory, where reports wait");
    page.Term("/etc/lagwatch/watch.toml", "", "The rules of lagwatchd(8)");
    std::vector<std::string> others = {"lagwatch-environment(7)", "lagwatch-watch.toml(5)", "lagwatchd(8)",
                                       "lagwatch-collector(8)"};
    for (const CLI::App* command : base::VisibleCommands(app_))
      if (command->get_name() != kService) others.push_back("lagwatch-" + command->get_name() + "(1)");
    page.References(others);
    return WritePage(title, page.text());
  }

  base::Status WriteCommand(const CLI::App& command) const {
    const std::string& name = command.get_name();
    const ManualTitle title = Title("lagwatch-" + name, 1, command.get_description());
    return WritePage(title, base::PageOfCommand(command, "lagwatch " + name, title,
                                                {"lagwatch(1)", "lagwatch-environment(7)"}, ExitTerms(name)));
  }

  base::Status WriteService() const {
    const CLI::App* command = base::FindCommand(app_, kService);
    const ManualTitle title = Title("lagwatchd", 8, "watch the programs of a machine");
    return WritePage(title,
                     base::PageOfCommand(*command, "lagwatchd", title,
                                         {"lagwatch-watch.toml(5)", "lagwatch-watch(1)", "lagwatch(1)"},
                                         ExitTerms(kService)));
  }

  base::Status WriteRules() const {
    const ManualTitle title = Title("lagwatch-watch.toml", 5, "rules of lagwatchd");
    ManualPage page(title);
    page.Section("Synopsis");
    page.Synopsis("/etc/lagwatch/watch.toml", "");
    page.Section("Description");
    page.Prose(base::FindCommand(app_, kService)->get_footer());
    page.Section("Keys of the file");
    for (const WatchKey& key : kWatchKeys)
      if (!key.is_of_rule) page.Term(key.name, "", key.meaning);
    page.Section("Keys of a rule");
    for (const WatchKey& key : kWatchKeys)
      if (key.is_of_rule) page.Term(key.name, "", key.meaning);
    page.Section("Options");
    page.Paragraph(
        "Above all rules these are the file's, and hold for all rules; in a rule they are its own.");
    for (const OptionRow& row : OptionRows())
      if (IsRulesOption(row)) AddOption(row, &page);
    page.References({"lagwatchd(8)", "lagwatch(1)"});
    return WritePage(title, page.text());
  }

  static void AddOption(const OptionRow& row, ManualPage* page) {
    std::string meaning = PlainText(HelpLine(row.help)) + ".";
    if (!row.is_switch && !row.standard.empty()) meaning += " Default: " + PlainText(row.standard) + ".";
    if (!row.range.empty()) meaning += " Range: " + PlainText(row.range) + ".";
    page->Term(row.name, row.is_switch ? " = true|false" : "", meaning);
  }

  struct Variable {
    std::string meaning;
    std::vector<std::string> options;  // "--spool of lagwatch run"
  };

  // Of a command and of those below it.
  static void CollectVariables(const CLI::App& command, const std::string& line,
                               std::map<std::string, Variable>* variables) {
    constexpr std::string_view kInText = "(env:";  // of options that read it themselves
    for (const CLI::Option* option : base::AllVisibleOptions(command)) {
      const std::string& text = option->get_description();
      std::string name = option->get_envname();
      const size_t at = text.find(kInText);
      if (name.empty() && at != std::string::npos)
        name = text.substr(at + kInText.size(), text.find(')', at) - at - kInText.size());
      if (name.empty()) continue;
      Variable& variable = (*variables)[name];
      if (variable.meaning.empty()) variable.meaning = text.substr(0, at == std::string::npos ? at : at - 1);
      variable.options.push_back(base::NamesOf(*option).back() + " of " + line);
    }
    for (const CLI::App* each : base::VisibleCommands(command))
      CollectVariables(*each, line + " " + each->get_name(), variables);
  }

  base::Status WriteEnvironment() const {
    const ManualTitle title =
        Title("lagwatch-environment", 7, "variables of the environment that lagwatch reads");
    ManualPage page(title);
    page.Section("Description");
    page.Paragraph("A variable stands for an option that is not given on the command line.");
    std::map<std::string, Variable> variables;
    CollectVariables(app_, "lagwatch", &variables);
    page.Section("Variables");
    for (const auto& [name, variable] : variables) {
      std::string options;
      for (const std::string& option : variable.options) options += (options.empty() ? "" : ", ") + option;
      page.Term(name, "",
                variable.meaning + (variable.meaning.ends_with('.') ? " " : ". ") + "Stands for " + options);
    }
    page.Section("Variables of other programs");
    for (const auto& [name, meaning] : kOthersVariables) page.Term(name, "", meaning);
    page.References({"lagwatch(1)", "lagwatch-run(1)"});
    return WritePage(title, page.text());
  }

  static constexpr std::array<std::pair<const char*, const char*>, 6> kOthersVariables = {
      {{"DEBUGINFOD_URLS", "The servers that --debuginfod asks for symbols, separated by blanks"},
       {"LAGWATCH_PAGER",
        "The program that shows output longer than the terminal, in place of PAGER; empty: none"},
       {"PAGER", "The same for all programs; without both it is less"},
       {"NO_COLOR", "Not empty: no colours, unless --color always is given"},
       {"XDG_STATE_HOME",
        "The default spool directory is lagwatch/spool below it; without it, below "
        "~/.local/state"},
       {"XDG_CACHE_HOME",
        "Files from debuginfod servers are kept in lagwatch below it; without it, below "
        "~/.cache"}}};

  const CLI::App& app_;
  const std::string directory_;
  const std::string date_;
};

}  // namespace

base::Status WriteManual(const CLI::App& app, const std::string& directory) {
  return ManualWriter(app, directory).Write();
}

}  // namespace lagwatch::tools
