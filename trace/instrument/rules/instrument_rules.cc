// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/rules/instrument_rules.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/owned_fd.h"
#include "base/process/regular_file.h"
#include "base/text.h"
#include "trace/instrument/rules/function_names.h"

namespace lagwatch::trace {
namespace {

constexpr size_t kMaxLineBytes = 4096;
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kFileName = "instrument.rules";

struct KindWord {
  std::string_view word;
  RuleKind kind;
};
constexpr std::array<KindWord, 5> kKinds = {{{"function", RuleKind::kFunction},
                                             {"file", RuleKind::kFile},
                                             {"module", RuleKind::kModule},
                                             {"namespace", RuleKind::kNamespace},
                                             {"places", RuleKind::kPlaces}}};

// The rest of a line, and the column of its first byte.
struct Rest {
  std::string_view line;
  size_t at = 0;

  std::string_view text() const { return line.substr(at); }
  void SkipBlanks() { at = std::min(line.find_first_not_of(kBlanks, at), line.size()); }
  std::string_view Word() const { return text().substr(0, text().find_first_of(kBlanks)); }
};

base::Status Refusal(size_t line, const Rest& rest, const std::string& what) {
  return {base::StatusCode::kInvalid,
          "line " + std::to_string(line) + ", column " + std::to_string(rest.at + 1) + ": " + what};
}

bool IsNear(std::string_view word, std::string_view known) {
  if (word.size() + 1 < known.size() || word.size() > known.size() + 1) return false;
  const size_t least = std::min(word.size(), known.size());
  size_t front = 0;
  while (front < least && word[front] == known[front]) ++front;
  size_t back = 0;
  while (back < least - front && word[word.size() - 1 - back] == known[known.size() - 1 - back]) ++back;
  return std::max(word.size(), known.size()) - front - back <= 2;  // one changed, or two swapped
}

// "library.so!Save*": the module before the mark. Operators have such a mark, too.
void SplitModule(InstrumentRule* rule) {
  const size_t mark = rule->pattern.find('!');
  if (mark == std::string::npos || rule->pattern.substr(0, mark).find("operator") != std::string::npos)
    return;
  rule->module = rule->pattern.substr(0, mark);
  rule->pattern.erase(0, mark + 1);
}

bool ParsePlaces(Rest rest, InstrumentRule* rule) {
  const auto build_id = base::FromHex(rest.Word());
  if (!build_id) return false;
  rule->pattern = *build_id;
  for (rest.at += rest.Word().size(), rest.SkipBlanks(); !rest.text().empty();
       rest.at += rest.Word().size(), rest.SkipBlanks()) {
    uint64_t offset = 0;
    const std::string_view word = rest.Word();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), offset, 16);
    if (error != std::errc() || end != word.data() + word.size()) return false;
    rule->offsets.push_back(offset);
  }
  std::sort(rule->offsets.begin(), rule->offsets.end());
  return true;
}

// Takes the word for the kind off; none: the whole is a function's pattern.
base::Result<RuleKind> TakeKind(size_t line, Rest* rest) {
  const std::string_view word = rest->Word();
  for (const KindWord& each : kKinds) {
    if (word != each.word) continue;
    rest->at += word.size();
    rest->SkipBlanks();
    if (rest->text().empty())
      return Refusal(line, *rest, "a pattern is missing behind '" + std::string(word) + "'");
    return each.kind;
  }
  if (word.size() == rest->text().size()) return RuleKind::kFunction;
  for (const KindWord& each : kKinds) {
    if (IsNear(word, each.word))
      return Refusal(
          line, *rest,
          "unknown kind '" + std::string(word) + "': did you mean " + std::string(each.word) + "?");
  }
  return RuleKind::kFunction;
}

base::Result<std::optional<InstrumentRule>> ParseLine(std::string_view text, size_t number) {
  const size_t last = text.find_last_not_of(kBlanks);
  Rest rest{.line = text.substr(0, last == std::string_view::npos ? 0 : last + 1)};
  rest.SkipBlanks();
  if (rest.text().empty() || rest.text().front() == '#') return std::optional<InstrumentRule>();
  InstrumentRule rule{.takes = rest.text().front() == '+', .line = number, .text = std::string(rest.text())};
  if (!rule.takes && rest.text().front() != '-')
    return Refusal(number, rest, "a rule begins with '+' (takes) or '-' (leaves out); a comment with '#'");
  ++rest.at;
  rest.SkipBlanks();
  if (rest.text().empty()) return Refusal(number, rest, "a pattern is missing");
  rule.kind = LAGWATCH_TRY(TakeKind(number, &rest));
  // A build's places may be many.
  if (rule.kind != RuleKind::kPlaces && text.size() > kMaxLineBytes)
    return Refusal(number, rest, "the line is longer than 4096 bytes");
  if (rule.kind == RuleKind::kPlaces) {
    if (!ParsePlaces(rest, &rule))
      return Refusal(number, rest, "a build id and offsets, in base 16, are expected");
    return std::optional(std::move(rule));
  }
  rule.pattern = rest.text();
  if (rule.kind == RuleKind::kFunction) SplitModule(&rule);
  if (rule.pattern.empty()) {
    rest.at = rest.line.size();
    return Refusal(number, rest, "a pattern is missing behind '!'");
  }
  return std::optional(std::move(rule));
}

bool MatchesFunction(const std::string& pattern, const FunctionNames& names) {
  return !names.symbol.empty() && (MatchesGlob(pattern, names.symbol) || MatchesGlob(pattern, names.plain) ||
                                   MatchesGlob(pattern, names.whole));
}

bool MatchesNamespace(const std::string& pattern, const FunctionNames& names) {
  // A C function may have "::" in no name.
  if (names.whole == names.symbol) return false;
  return MatchesGlob(pattern + "::*", names.plain) || MatchesGlob(pattern + "::*", names.whole);
}

bool Matches(const InstrumentRule& rule, const RuledFunction& function, const FunctionNames& names) {
  switch (rule.kind) {
    case RuleKind::kFunction:
      return MatchesModule(rule.module, function.module) && MatchesFunction(rule.pattern, names);
    case RuleKind::kFile:
      return MatchesSourceFile(rule.pattern, function.source_file);
    case RuleKind::kModule:
      return MatchesModule(rule.pattern, function.module);
    case RuleKind::kNamespace:
      return MatchesNamespace(rule.pattern, names);
    case RuleKind::kPlaces:
      return rule.pattern == function.build_id &&
             std::binary_search(rule.offsets.begin(), rule.offsets.end(), function.offset);
  }
  return false;
}

}  // namespace

bool InstrumentRule::MayBeIn(std::string_view module_path) const {
  if (kind == RuleKind::kModule) return MatchesModule(pattern, module_path);
  return MatchesModule(module, module_path);
}

base::Result<InstrumentRules> InstrumentRules::Parse(std::string_view text) {
  InstrumentRules rules;
  for (size_t number = 1; !text.empty(); ++number) {
    auto rule = LAGWATCH_TRY(ParseLine(base::TakeUntil('\n', &text), number));
    if (rule) rules.Add(std::move(*rule));
  }
  return rules;
}

base::Result<InstrumentRules> InstrumentRules::Read(const std::string& path) {
  struct stat status {};
  errno = 0;
  const base::OwnedFd file(base::OpenRegularFile(path.c_str(), &status));
  if (!file && errno == 0) return base::Status(base::StatusCode::kInvalid, path + " is not a file");
  if (!file && errno == ENOENT) return base::Status(base::StatusCode::kNotFound, "there is no file " + path);
  if (!file) return base::IoError("cannot open " + path, errno);
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = read(file.get(), part, sizeof part)) != 0;) {
    if (size < 0) return base::IoError("cannot read " + path, errno);
    text.append(part, static_cast<size_t>(size));
    if (text.size() > kMaxBytes)
      return base::Status(base::StatusCode::kTooLarge, path + " is larger than 16 MiB");
  }
  auto rules = Parse(text);
  if (!rules.ok()) return base::Status(rules.status().code(), path + ": " + rules.status().message());
  return rules;
}

std::string InstrumentRules::PathBeside(std::string_view program) {
  const size_t slash = program.rfind('/');
  if (slash == std::string_view::npos) return {};
  std::string path(program.substr(0, slash + 1));
  path += kFileName;
  struct stat status {};
  return base::OwnedFd(base::OpenRegularFile(path.c_str(), &status)) ? path : std::string();
}

bool InstrumentRules::HasFiles() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const InstrumentRule& rule) { return rule.kind == RuleKind::kFile; });
}

InstrumentRules::Decision InstrumentRules::Decide(const RuledFunction& function) const {
  if (rules_.empty()) return {true, nullptr};
  const FunctionNames names = FunctionNames::Of(function.symbol);
  const auto rule = std::find_if(rules_.rbegin(), rules_.rend(),
                                 [&](const InstrumentRule& each) { return Matches(each, function, names); });
  if (rule == rules_.rend()) return {IsTakenByDefault(), nullptr};
  return {rule->takes, &*rule};
}

bool InstrumentRules::MayTakeIn(std::string_view module_path) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (!rule->MayBeIn(module_path)) continue;
    if (rule->takes) return true;
    if (rule->kind == RuleKind::kModule) return false;
  }
  return IsTakenByDefault();
}

std::string InstrumentRules::ToText() const {
  std::string text;
  for (const InstrumentRule& rule : rules_) {
    if (rule.kind != RuleKind::kPlaces) {
      text += rule.text + "\n";
      continue;
    }
    text += std::string(rule.takes ? "+" : "-") + " places " + base::ToHex(std::string_view(rule.pattern));
    for (const uint64_t offset : rule.offsets) {
      char hex[17];
      const auto end = std::to_chars(hex, hex + sizeof hex, offset, 16).ptr;
      text.append(" ").append(hex, static_cast<size_t>(end - hex));
    }
    text += "\n";
  }
  return text;
}

}  // namespace lagwatch::trace
