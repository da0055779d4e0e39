// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster_rules.h"

#include <algorithm>
#include <iterator>

namespace lagwatch::policies {
namespace {

base::Status Wrong(int line_number, std::string_view what) {
  return {base::StatusCode::kInvalid, "line " + std::to_string(line_number) + ": " + std::string(what)};
}

// The first line of `text`, which loses it, without its comment and the blanks around it.
std::string_view TakeLine(std::string_view* text) {
  size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  line = line.substr(0, line.find('#'));
  size_t first = std::min(line.find_first_not_of(" \t\r"), line.size());
  return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

bool IsLessBackwards(std::string_view one, std::string_view other) {
  return std::lexicographical_compare(one.rbegin(), one.rend(), other.rbegin(), other.rend());
}

}  // namespace

void PrefixSet::Add(std::string_view prefix) {
  if (HasPrefixOf(prefix)) return;
  std::erase_if(prefixes_, [&](const std::string& longer) { return longer.starts_with(prefix); });
  prefixes_.insert(std::lower_bound(prefixes_.begin(), prefixes_.end(), prefix), std::string(prefix));
}

// Only the last that is not greater than the text can be its.
bool PrefixSet::HasPrefixOf(std::string_view text) const {
  const auto greater = std::upper_bound(prefixes_.begin(), prefixes_.end(), text);
  return greater != prefixes_.begin() && text.starts_with(*std::prev(greater));
}

void SuffixSet::Add(std::string_view suffix) {
  if (HasSuffixOf(suffix)) return;
  std::erase_if(suffixes_, [&](const std::string& longer) { return longer.ends_with(suffix); });
  suffixes_.insert(std::lower_bound(suffixes_.begin(), suffixes_.end(), suffix, IsLessBackwards),
                   std::string(suffix));
}

bool SuffixSet::HasSuffixOf(std::string_view text) const {
  const auto greater = std::upper_bound(suffixes_.begin(), suffixes_.end(), text, IsLessBackwards);
  return greater != suffixes_.begin() && text.ends_with(*std::prev(greater));
}

void FrameList::Add(std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (pattern.ends_with('*')) {
    prefixes_.Add(pattern.substr(0, star));
  } else if (star == 0) {
    suffixes_.Add(pattern.substr(1));
  } else if (star != pattern.npos) {
    ends_.push_back({std::string(pattern.substr(0, star)), std::string(pattern.substr(star + 1))});
  } else {
    names_.insert(std::lower_bound(names_.begin(), names_.end(), pattern), std::string(pattern));
  }
}

bool FrameList::Contains(std::string_view name) const {
  auto has_ends = [name](const Ends& ends) {
    return name.size() >= ends.prefix.size() + ends.suffix.size() && name.starts_with(ends.prefix) &&
           name.ends_with(ends.suffix);
  };
  return std::binary_search(names_.begin(), names_.end(), name) || prefixes_.HasPrefixOf(name) ||
         suffixes_.HasSuffixOf(name) || std::ranges::any_of(ends_, has_ends);
}

base::Result<FrameList*> ClusterRules::ListOf(std::string_view heading) {
  if (heading == "[waits]") return &waits_;
  if (heading == "[skipped]") return &skipped_;
  if (heading == "[modules]") return &modules_;
  if (heading == "[libraries]") return &libraries_;
  if (heading == "[packages]") return &packages_;
  if (heading == "[signals]") return &signals_;
  if (heading == "[interpreters]") return &interpreters_;
  if (heading == "[ends]") return &ends_;
  if (heading == "[loops]") return &loops_;
  return base::Status(base::StatusCode::kInvalid,
                      "there is no heading " + std::string(heading) +
                          "; there are [waits], [skipped], [modules], [libraries], [packages], [signals], "
                          "[interpreters], [ends] and [loops]");
}

base::Status ClusterRules::Add(std::string_view text) {
  FrameList* list = nullptr;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = TakeLine(&text);
    if (line.empty()) continue;
    if (line.front() == '[' && line.ends_with(']')) {
      auto heading = ListOf(line);
      if (!heading.ok()) return Wrong(line_number, heading.status().message());
      list = *heading;
      continue;
    }
    if (list == nullptr) return Wrong(line_number, "a name needs a heading above it, such as [waits]");
    if (line == "*" || std::ranges::count(line, '*') > 1)
      return Wrong(line_number, "'*' may stand once in a name, beside something else");
    list->Add(line);
  }
  return {};
}

FrameRole ClusterRules::RoleOf(std::string_view function, std::string_view module) const {
  if (ends_.Contains(function)) return FrameRole::kEnd;
  if (loops_.Contains(function)) return FrameRole::kLoop;
  if (signals_.Contains(function)) return FrameRole::kSignal;
  bool is_skipped = waits_.Contains(function) || skipped_.Contains(function) || modules_.Contains(module);
  return is_skipped ? FrameRole::kSkipped : FrameRole::kSignificant;
}

}  // namespace lagwatch::policies
