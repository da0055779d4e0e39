// SPDX-License-Identifier: Apache-2.0
// `lagwatch instrument list`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/text.h"
#include "tools/commands.h"
#include "tools/instrument/compiler_flags.h"
#include "tools/instrument/function_list.h"
#include "tools/read/endpoint.h"
#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/rules/rule_options.h"
#include "tools/rules/rules_around.h"

namespace lagwatch::tools {
namespace {

struct ListOptions {
  std::string path;
  RuleOptions rules;
  bool is_json = false;
};

int RefuseToList(const std::string& message) {
  std::cerr << "lagwatch: instrument: " << Printable(message) << "\n";
  return 2;
}

std::string RuleText(const ListedFunction& function) {
  std::string text = function.is_taken ? "taken" : "left out";
  if (function.rule.empty()) return text + ", no rule matches";
  if (function.line != 0) text += ", line " + std::to_string(function.line);
  return text + ": " + function.rule;
}

std::string MechanismText(const std::string& refusal) { return refusal.empty() ? "yes" : "no: " + refusal; }

// For a shell.
std::string Quoted(const std::string& flag) {
  if (flag.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:./,+") ==
      std::string::npos)
    return flag;
  std::string quoted = "'";
  for (const char byte : flag) quoted += byte == '\'' ? "'\\''" : std::string(1, byte);
  return quoted + "'";
}

std::string FlagLine(const std::string& title, const std::vector<std::string>& flags) {
  std::string line = title;
  for (const std::string& flag : flags) line += " " + Quoted(flag);
  return line + "\n";
}

std::string Counted(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// The number of functions that each mechanism leaves out of those that the rules take, by reason.
std::string ReasonLines(const FunctionList& list, const char* title, std::string ListedFunction::*refusal) {
  std::map<std::string, size_t> counts;
  size_t taken = 0;
  for (const ListedFunction& function : list.functions) {
    if (!function.is_taken) continue;
    if ((function.*refusal).empty()) ++taken;
    if (!(function.*refusal).empty()) ++counts[function.*refusal];
  }
  std::string lines = std::string(title) + ": " + std::to_string(taken) + "\n";
  for (const auto& [reason, count] : counts)
    lines += "  not " + std::to_string(count) + ": " + Printable(reason) + "\n";
  return lines;
}

std::string TextOf(const FunctionList& list, const CompilerFlags& flags) {
  Table table({{"function", Table::Align::kLeft, /*is_elastic=*/true},
               {"rules", Table::Align::kLeft},
               {"patch", Table::Align::kLeft},
               {"probe", Table::Align::kLeft}});
  const auto taken = std::ranges::count_if(list.functions, &ListedFunction::is_taken);
  for (const ListedFunction& function : list.functions)
    table.AddRow({function.name, RuleText(function), MechanismText(function.patch_refusal),
                  MechanismText(function.probe_refusal)});
  std::string text = table.ToText(TerminalWidth());
  text += "\n" + Counted(list.functions.size(), "function") + ", " + std::to_string(taken) +
          " taken by the rules; of these\n";
  text += ReasonLines(list, "patched at run time", &ListedFunction::patch_refusal);
  text += ReasonLines(list, "probed", &ListedFunction::probe_refusal);
  text += list.has_hooks ? "hooks of -finstrument-functions: the file has calls of them\n" : "";
  if (!list.has_debug_information)
    text += "no debug information: rules for source files match nothing here\n";
  text += FlagLine("flags for patching at run time:", flags.patch);
  text += FlagLine("flags for hooks (GCC):", flags.hooks);
  if (!flags.hooked_too.empty())
    text += "  these cannot leave out " + Counted(flags.hooked_too.size(), "function") + ", such as " +
            Printable(flags.hooked_too.front()) + "\n";
  return text;
}

Json JsonOf(const FunctionList& list, const CompilerFlags& flags) {
  Json functions = Json::array();
  const auto mechanism = [](const std::string& refusal) {
    return Json{{"can", refusal.empty()}, {"reason", refusal.empty() ? Json() : Json(refusal)}};
  };
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  for (const ListedFunction& function : list.functions) {
    Json rule;
    if (!function.rule.empty())
      rule = {{"line", function.line == 0 ? Json() : Json(function.line)}, {"text", function.rule}};
    functions.push_back({{"id", function.id == 0 ? Json() : Json(base::ToHex(function.id))},
                         {"name", function.name},
                         {"symbol", text(function.symbol)},
                         {"offset", function.offset},
                         {"file", text(function.source_file)},
                         {"taken", function.is_taken},
                         {"rule", rule},
                         {"patch", mechanism(function.patch_refusal)},
                         {"probe", mechanism(function.probe_refusal)}});
  }
  return {{"module", list.path},
          {"build_id", text(base::ToHex(std::string_view(list.build_id)))},
          {"has_hooks", list.has_hooks},
          {"functions", functions},
          {"flags", {{"patch", flags.patch}, {"hooks", flags.hooks}, {"hooked_too", flags.hooked_too}}}};
}

// The functions that the cause's own functions call, also those that no report has seen.
base::Status AddCallees(const ListOptions& options, trace::InstrumentRules* rules) {
  if (options.rules.around.empty()) return {};
  const auto source = LAGWATCH_TRY(OpenSource(options.rules.source));
  const CauseRules around = LAGWATCH_TRY(RulesAround(source.get(), options.rules.around));
  const FunctionList list = LAGWATCH_TRY(ListFunctionsOf(options.path, {}));
  const std::string module = options.path.substr(options.path.rfind('/') + 1);
  std::vector<uint64_t> own;
  for (const ListedFunction& function : list.functions)
    if (around.functions.contains({module, function.plain_name})) own.push_back(function.offset);
  std::vector<uint64_t> callees = DirectCallees(options.path, list, own);
  if (callees.empty()) return {};
  rules->Add({.takes = true,
              .kind = trace::RuleKind::kPlaces,
              .pattern = list.build_id,
              .text = "+ called by the cause " + options.rules.around,
              .offsets = std::move(callees)});
  return {};
}

int List(const ListOptions& options) {
  auto rules = RulesFor(options.rules, options.path);
  if (!rules.ok()) return RefuseToList(rules.status().message());
  if (base::Status status = AddCallees(options, &*rules); !status.ok()) return RefuseToList(status.message());
  const auto list = ListFunctionsOf(options.path, *rules);
  if (!list.ok()) return RefuseToList(list.status().message());
  const CompilerFlags flags = FlagsFor(*list, *rules);
  return Print(options.is_json ? JsonOf(*list, flags).dump(2) + "\n" : TextOf(*list, flags));
}

}  // namespace

void AddInstrumentCommand(CLI::App* app, int* exit_code) {
  CLI::App* instrument = app->add_subcommand("instrument", "Say which functions are recorded and probed");
  instrument->require_subcommand(1);
  auto options = std::make_shared<ListOptions>();
  CLI::App* list =
      instrument->add_subcommand("list", "List the functions of a file, and why some are left out");
  list->footer(
      "Rules are lines of a file, the last that matches decides; a function that none matches is taken\n"
      "if the first begins with '-':\n\n"
      "  - namespace std            functions of a C++ namespace\n"
      "  - file src/generated/*     functions of source files\n"
      "  - module libssl*           functions of a library\n"
      "  + Editor::Save*            functions by name, also libeditor!Editor::Save*\n\n"
      "  lagwatch instrument list ./editor --rules instrument.rules\n"
      "  lagwatch instrument list ./editor --around 5f1a6c0e2b7d4938");
  list->add_option("binary", options->path, "The program or library; it is not run")->required();
  AddRulesOption(list, &options->rules);
  AddAroundOption(list, &options->rules);
  list->add_flag("--json", options->is_json, "Print JSON");
  list->callback([=] { *exit_code = List(*options); });
}

}  // namespace lagwatch::tools
