// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rules_around.h"

#include <vector>

namespace lagwatch::tools {
namespace {

// Rules mean functions without this.
std::string WithoutAnonymous(std::string name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
    name.erase(at, kAnonymous.size());
  return name;
}

// Module and name; the name is empty for a place without one, and for frames of scripts.
std::pair<std::string, std::string> FunctionOf(const Json& frame) {
  const auto text = [&](const char* key) {
    const auto found = frame.find(key);
    return found != frame.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  std::string module = text("module");
  module = module.substr(module.rfind('/') + 1);
  std::string name = WithoutAnonymous(text("function"));
  const bool is_code = !module.empty() && !module.starts_with('[') && name.find("+0x") == std::string::npos;
  return {module, is_code ? name : std::string()};
}

base::Result<CauseRules> RulesOf(const Json& answer, const std::string& cause) {
  const Json& frames = answer.at("frames");
  CauseRules around;
  std::set<std::pair<std::string, std::string>> known;
  for (const Json& stack : answer.at("stacks")) {
    bool is_seen = false;  // the stack's own function
    for (const Json& number : stack) {
      const Json& frame = frames.at(number.get<size_t>());
      const auto function = FunctionOf(frame);
      if (function.second.empty()) continue;
      if (!is_seen && frame.value("own", false)) around.functions.insert(function);
      is_seen |= frame.value("own", false);
      if (!known.insert(function).second) continue;
      const std::string pattern = function.first + "!" + function.second;
      around.rules.Add({.takes = true,
                        .kind = trace::RuleKind::kFunction,
                        .module = function.first,
                        .pattern = function.second,
                        .text = "+ " + pattern});
    }
  }
  if (known.empty())
    return base::Status(base::StatusCode::kNotFound, "no report of cause " + cause + " names a function");
  return around;
}

}  // namespace

base::Result<CauseRules> RulesAround(ReportSource* source, const std::string& cause) {
  const Json answer = LAGWATCH_TRY(source->Get("/v1/clusters/" + cause + "/samples", {}));
  try {
    return RulesOf(answer, cause);
  } catch (const Json::exception&) {
    return base::Status(base::StatusCode::kInvalid, "the collector's answer is not understood");
  }
}

}  // namespace lagwatch::tools
