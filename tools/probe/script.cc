// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/script.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "base/command_line/nearest_word.h"
#include "probe/compile/compiler.h"
#include "probe/scripts/scripts.h"
#include "probe/verify/verifier.h"
#include "tools/probe/debug_types.h"
#include "tools/probe/function_search.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

std::string ArgumentsText(const probe::BundledScript& script) {
  std::vector<std::string> texts;
  for (const probe::ScriptArgument& argument : script.Arguments())
    texts.push_back(argument.fallback.empty() ? argument.name
                                              : "[" + argument.name + "=" + argument.fallback + "]");
  return Join(texts, " ");
}

// Two names of one function, as open and open64, count each call once.
bool IsSameProbe(const probe::Program& program, const sdk::ProbeSiteAt& a, const sdk::ProbeSiteAt& b) {
  const probe::Probe& one = program.probes[a.probe];
  const probe::Probe& other = program.probes[b.probe];
  return a.role != sdk::SiteRole::kJavaMethod && a.offset == b.offset && a.module == b.module &&
         a.role == b.role && a.probe != b.probe && one.place.kind == other.place.kind &&
         one.place.kind != probe::PlaceKind::kCall && one.place.name != other.place.name &&
         one.operations == other.operations;
}

void DropDoubles(const probe::Program& program, std::vector<sdk::ProbeSiteAt>* sites) {
  std::vector<sdk::ProbeSiteAt> kept;
  for (sdk::ProbeSiteAt& site : *sites) {
    const bool is_double =
        std::ranges::any_of(kept, [&](const auto& each) { return IsSameProbe(program, each, site); });
    if (!is_double) kept.push_back(std::move(site));
  }
  *sites = std::move(kept);
}

// For words that are no script.
base::Status NoScript(const std::string& word, bool has_actions) {
  if (has_actions)
    return {base::StatusCode::kInvalid, "give one script, in quotes: behind it is more than options"};
  std::vector<std::string> names;
  for (const probe::BundledScript& script : probe::BundledScripts()) names.emplace_back(script.name);
  const std::string nearest = base::NearestWord(word, names);
  if (!nearest.empty())
    return {base::StatusCode::kInvalid, "no script is named '" + word + "'; did you mean '" + nearest + "'?"};
  return {base::StatusCode::kInvalid,
          "'" + word +
              "' is no script that `lagwatch probe --list` shows and no file, and says not what to do, "
              "as in '" +
              word + " { count }'"};
}

// The types of native functions, and which places mean methods of Java.
class ScriptTypes final : public probe::TypeSource {
 public:
  ScriptTypes(DebugTypes* types, ProcessFunctions* functions) : types_(*types), functions_(*functions) {}
  probe::TypePointer FindType(std::string_view name) const override { return types_.FindType(name); }
  std::optional<probe::Signature> FindFunction(std::string_view module,
                                               std::string_view function) const override {
    return types_.FindFunction(module, function);
  }
  bool IsJava(const probe::Place& place) const override { return MeansJava(place, &functions_, &types_); }

 private:
  DebugTypes& types_;
  ProcessFunctions& functions_;
};

}  // namespace

base::Result<Script> FindScript(const std::vector<std::string>& words) {
  const std::string& word = words.front();
  std::error_code error;
  if (const probe::BundledScript* bundled = probe::FindBundledScript(word)) {
    auto text = bundled->WithArguments(std::span(words).subspan(1));
    if (text.ok()) return Script{Join(words, " "), *std::move(text)};
    return base::Status(text.status().code(), text.status().message() + ": lagwatch probe PID " + word + " " +
                                                  ArgumentsText(*bundled));
  }
  const bool is_file = word.ends_with(".lwp") || std::filesystem::is_regular_file(word, error);
  const bool has_actions = word.find('{') != std::string::npos;
  if (words.size() > 1 || (!is_file && !has_actions)) return NoScript(word, has_actions);
  if (!is_file) return Script{word, word};
  std::ifstream file(word);
  if (!file) return base::Status(base::StatusCode::kNotFound, "cannot read " + word);
  return Script{word, std::string(std::istreambuf_iterator<char>(file), {})};
}

std::string ListScripts() {
  Table table({{"script", Table::Align::kLeft},
               {"arguments", Table::Align::kLeft},
               {"question", Table::Align::kLeft}});
  for (const probe::BundledScript& script : probe::BundledScripts())
    table.AddRow({std::string(script.name), ArgumentsText(script), std::string(script.Title())});
  return table.ToText(0);
}

base::Result<PreparedScript> PrepareScript(const Script& script, ProcessFunctions* functions) {
  DebugTypes types(functions);
  const ScriptTypes all_types(&types, functions);
  auto compiled = LAGWATCH_TRY(probe::CompileScript(script.text, &all_types));
  const auto verified = LAGWATCH_TRY(probe::Verify(std::move(compiled)));
  PreparedScript prepared{.program = verified.program(), .sites = {}};
  for (const probe::VerifiedProbe& each : verified.probes())
    prepared.hit_cost_ns = std::max<int64_t>(prepared.hit_cost_ns, each.cost_ns());
  for (size_t i = 0; i < prepared.program.probes.size(); ++i) {
    const probe::Probe& each = prepared.program.probes[i];
    auto sites = FindSites(each.place, static_cast<uint16_t>(i), functions, &types);
    if (!sites.ok()) {
      const std::string at =
          std::to_string(each.position.line) + ":" + std::to_string(each.position.column) + ": ";
      return base::Status(sites.status().code(), at + sites.status().message());
    }
    prepared.sites.insert(prepared.sites.end(), sites->begin(), sites->end());
  }
  if (prepared.sites.size() > sdk::kMaxProbeSites)
    return base::Status(base::StatusCode::kTooLarge,
                        "the script is at " + std::to_string(prepared.sites.size()) +
                            " functions; it may be at " + std::to_string(sdk::kMaxProbeSites));
  DropDoubles(prepared.program, &prepared.sites);
  return prepared;
}

}  // namespace lagwatch::tools
