// SPDX-License-Identifier: Apache-2.0
#include "tools/read/hang_filter.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/command_line/nearest_word.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

// As CLI11 expects: a check that says which of `words` was probably meant.
CLI::Validator OneOf(const std::string& what, std::vector<std::string> words) {
  const auto check = [what, words](const std::string& word) -> std::string {
    if (std::ranges::find(words, word) != words.end()) return "";
    const std::string nearest = base::NearestWord(word, words);
    return "no " + what + " '" + word + "'; " +
           (nearest.empty() ? "there are: " + Join(words, ", ") : "did you mean '" + nearest + "'?");
  };
  return {check, "", ""};
}

std::vector<std::string> VerdictWords() {
  std::vector<std::string> words;
#define VERDICT_WORD(number, enumerator, word, ...) words.emplace_back(word);
#include "policies/verdict.def"
  return words;
}

std::vector<std::string> KindWords() {
  std::vector<std::string> words;
#define HANG_KIND(number, enumerator, name, ...) words.emplace_back(name);
#include "policies/report_enums.def"
  return words;
}

}  // namespace

void HangFilter::AddTo(collector::QueryString* query) const {
  for (const auto& [name, text] : texts) query->Set(name, text);
  if (days == 0) return;
  const int64_t today = base::SystemClock().WallMs() / base::kMsPerDay;
  query->Set("from_ms", std::to_string((today - days + 1) * base::kMsPerDay));
}

std::string HintAt(const std::string& name, const std::string& text, const std::vector<std::string>& known) {
  if (known.empty() || std::ranges::find(known, text) != known.end()) return "";
  std::string nearest = base::NearestWord(text, known);
  // Names are long: a part of one is enough to know it.
  const auto has_it = [&](const std::string& each) { return each.find(text) != std::string::npos; };
  if (const auto found = std::ranges::find_if(known, has_it); nearest.empty() && found != known.end())
    nearest = *found;
  constexpr size_t kMostNamed = 5;
  const std::vector<std::string> some(
      known.begin(), known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kMostNamed)));
  return "no " + name + " '" + text + "' in the newest reports; " +
         (nearest.empty() ? "there are: " + Join(some, ", ") + (some.size() < known.size() ? " …" : "")
                          : "did you mean '" + nearest + "'?");
}

namespace {

CLI::Option* AddText(CLI::App* command, HangFilter* filter, const char* name, const char* description) {
  return command->add_option(std::string("--") + name, filter->texts[name], description);
}

}  // namespace

void AddCommonFilterFlags(CLI::App* command, HangFilter* filter) {
  AddText(command, filter, "loop", "Only this loop");
  AddText(command, filter, "tag", "Only this dispatch");
  AddText(command, filter, "verdict", "Only with this verdict, \"lock\"")
      ->check(OneOf("verdict", VerdictWords()));
  AddText(command, filter, "kind", "Only of this kind, \"startup\"")->check(OneOf("kind", KindWords()));
  command->add_option("--days", filter->days, "Only of the last days (UTC), today among them")
      ->check(CLI::Range(1, 3650));
}

void AddFilterFlags(CLI::App* command, HangFilter* filter) {
  AddText(command, filter, "version", "Only this version");
  AddText(command, filter, "distribution",
          "Only on this distribution, as `lagwatch reports --json` names it");
  AddText(command, filter, "os", "Only on this kernel or system, \"Linux 6.1.0\"");
  AddText(command, filter, "user", "Only of this user");
  AddCommonFilterFlags(command, filter);
}

}  // namespace lagwatch::tools
