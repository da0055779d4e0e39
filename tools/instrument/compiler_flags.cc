// SPDX-License-Identifier: Apache-2.0
#include "tools/instrument/compiler_flags.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace lagwatch::tools {
namespace {

using trace::InstrumentRule;
using trace::RuleKind;

constexpr size_t kMostTexts = 100;  // of a list

// The text of a glob that has '*' at its ends only; empty for others.
std::string TextOf(std::string_view glob) {
  while (glob.starts_with('*')) glob.remove_prefix(1);
  while (glob.ends_with('*')) glob.remove_suffix(1);
  return glob.find_first_of("*?") == std::string_view::npos ? std::string(glob) : std::string();
}

// GCC compares texts with parts of names without parameters, and of paths.
class ExcludeList {
 public:
  ExcludeList(const FunctionList& list, const std::string& (*text_of)(const ListedFunction&))
      : list_(list), text_of_(text_of) {}

  // Takes `text` if it leaves out a function that is not yet, and none that the rules take.
  void Offer(const std::string& text, std::set<const ListedFunction*>* left) {
    if (text.empty() || texts_.size() >= kMostTexts) return;
    std::vector<const ListedFunction*> found;
    for (const ListedFunction& function : list_.functions) {
      if (function.symbol.empty() || text_of_(function).find(text) == std::string::npos) continue;
      if (function.is_taken) return;
      if (left->contains(&function)) found.push_back(&function);
    }
    if (found.empty()) return;
    for (const ListedFunction* function : found) left->erase(function);
    texts_.push_back(text);
  }

  void AddTo(const std::string& flag, std::vector<std::string>* flags) const {
    std::string list;
    for (const std::string& text : texts_) {
      if (!list.empty()) list += ",";
      for (const char byte : text) list += byte == ',' ? "\\," : std::string(1, byte);
    }
    if (!list.empty()) flags->push_back(flag + "=" + list);
  }

 private:
  const FunctionList& list_;
  const std::string& (*text_of_)(const ListedFunction&);
  std::vector<std::string> texts_;
};

// They come with the compiler, built already.
bool IsOfStartFiles(std::string_view symbol) {
  constexpr std::string_view kNames[] = {"_start",
                                         "_init",
                                         "_fini",
                                         "deregister_tm_clones",
                                         "frame_dummy",
                                         "register_tm_clones",
                                         "__do_global_dtors_aux",
                                         "_dl_relocate_static_pie"};
  return std::ranges::find(kNames, symbol) != std::end(kNames);
}

// The part of the name that GCC spells as demanglers do: of a function in an anonymous namespace, the part
// behind that.
std::string OwnTextOf(const ListedFunction& function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  const size_t at = function.name.rfind(kAnonymous);
  if (at == std::string::npos) return function.plain_name;
  const std::string inner = function.name.substr(at + kAnonymous.size());
  return inner.substr(0, inner.find('('));
}

const std::string& FileOf(const ListedFunction& function) { return function.source_file; }
const std::string& NameOf(const ListedFunction& function) { return function.plain_name; }

}  // namespace

CompilerFlags FlagsFor(const FunctionList& list, const trace::InstrumentRules& rules) {
  CompilerFlags flags{
      .patch = {"-fpatchable-function-entry=5"}, .hooks = {"-finstrument-functions"}, .hooked_too = {}};
  std::set<const ListedFunction*> left;
  for (const ListedFunction& function : list.functions)
    if (!function.is_taken && !function.symbol.empty() && !IsOfStartFiles(function.symbol))
      left.insert(&function);
  ExcludeList files(list, &FileOf);
  ExcludeList names(list, &NameOf);
  for (const InstrumentRule& rule : rules.rules()) {
    if (rule.takes) continue;
    if (rule.kind == RuleKind::kFile) files.Offer(TextOf(rule.pattern), &left);
    if (rule.kind == RuleKind::kNamespace) names.Offer(TextOf(rule.pattern) + "::", &left);
    if (rule.kind == RuleKind::kFunction) names.Offer(TextOf(rule.pattern), &left);
  }
  for (const ListedFunction& function : list.functions)
    if (left.contains(&function)) names.Offer(OwnTextOf(function), &left);
  files.AddTo("-finstrument-functions-exclude-file-list", &flags.hooks);
  names.AddTo("-finstrument-functions-exclude-function-list", &flags.hooks);
  for (const ListedFunction& function : list.functions)
    if (left.contains(&function)) flags.hooked_too.push_back(function.name);
  return flags;
}

}  // namespace lagwatch::tools
