// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/watch_rules.h"

#include <pwd.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "sdk/options/option_values.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

using base::Status;
using base::StatusCode;

Status At(const toml::node& node, const std::string& problem) {
  return {StatusCode::kInvalid, "line " + std::to_string(node.source().begin.line) + ": " + problem};
}

// A value as it is given on a command line; empty for tables and lists.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "on" : "off";
  return std::nullopt;
}

// The settings of all rules, and what a rule says beyond them.
class Settings {
 public:
  // Errors: kInvalid.
  Status Set(const std::string& name, const toml::node& node) {
    const auto text = TextOf(node);
    if (!text) return At(node, "'" + name + "' needs a text, a whole number, true or false");
    if (name == "threads") {
      given_.threads = *text;
    } else if (name == "interval_ms") {
      const auto value = base::ParseNumber<uint32_t>(*text);
      if (!value || *value < 10 || *value > 1000) return At(node, "interval_ms is a number from 10 to 1000");
      given_.interval_ms = *value;
    } else if (name == "quota") {
      quota_ = base::ParseNumber<uint32_t>(*text);
      if (!quota_ || *quota_ == 0) return At(node, "quota is a number of reports a day, from 1");
    } else if (name == "probable") {
      given_.takes_probable = *text == "on";
    } else {
      lw_options checked;
      sdk::SetDefaults(&checked);
      if (std::ranges::count(kNoRulesOptions, name) != 0 || !sdk::SetOption(&checked, name, text->c_str()))
        return At(node, "there is no option '" + name + "', or it does not take this value");
    }
    texts_.push_back(name);
    texts_.push_back(*text);
    return {};
  }
  WatchSettings Make() const {
    WatchSettings settings = given_;
    lw_options raw;
    sdk::SetDefaults(&raw);
    raw.user_rate_ppm = 1'000'000;  // as for `lagwatch run`: the machine is one user
    for (size_t i = 0; i + 1 < texts_.size(); i += 2) sdk::SetOption(&raw, texts_[i], texts_[i + 1].c_str());
    settings.options = sdk::ToOptions(&raw);
    if (quota_) settings.quota = std::make_shared<ReportQuota>(*quota_);
    return settings;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  WatchSettings given_;
  std::optional<uint32_t> quota_;   // each rule's own
  std::vector<std::string> texts_;  // name, value, …; the last one of a name is in force
};

base::Result<WatchRule> ReadRule(const toml::table& table, Settings settings) {
  WatchRule rule;
  std::vector<std::string> conditions;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::array<std::pair<std::string_view, std::string*>, 3> texts = {
        {{"program", &rule.program}, {"user", &rule.user}, {"unit", &rule.unit}}};
    const auto found = std::ranges::find(texts, name, &std::pair<std::string_view, std::string*>::first);
    if (found != texts.end()) {
      const auto text = TextOf(node);
      if (!text || text->empty()) return At(node, "'" + name + "' needs a name");
      *found->second = *text;
      conditions.insert(conditions.end(), {name, *text});
    } else if (name == "watch") {
      const auto* flag = node.as_boolean();
      if (flag == nullptr) return At(node, "'watch' is true or false");
      rule.is_watched = flag->get();
      conditions.insert(conditions.end(), {name, rule.is_watched ? "on" : "off"});
    } else {
      if (Status status = settings.Set(name, node); !status.ok()) return status;
    }
  }
  rule.settings = std::make_shared<WatchSettings>(settings.Make());
  rule.settings->is_chosen = !rule.program.empty() || !rule.unit.empty();
  rule.texts = settings.texts();
  rule.texts.insert(rule.texts.end(), conditions.begin(), conditions.end());
  return rule;
}

base::Result<WatchRules> ReadTable(const toml::table& file) {
  WatchRules rules;
  Settings settings;
  const toml::array* list = nullptr;
  for (const auto& [key, node] : file) {
    const std::string name(key.str());
    if (name == "rule") {
      list = node.as_array();
      if (list == nullptr || !list->is_homogeneous(toml::node_type::table))
        return At(node, "rules begin with [[rule]]");
    } else if (name == "most_processes") {
      const auto* number = node.as_integer();
      if (number == nullptr || number->get() < 1 || number->get() > 1000)
        return At(node, "most_processes is a number from 1 to 1000");
      rules.most_processes = static_cast<uint32_t>(number->get());
    } else if (name == "bpf") {
      const auto* is_wanted = node.as_boolean();
      if (is_wanted == nullptr) return At(node, "bpf is true or false");
      rules.asks_kernel = is_wanted->get();
    } else {
      if (Status status = settings.Set(name, node); !status.ok()) return status;
    }
  }
  rules.options = settings.Make().options;
  if (list == nullptr) return rules;
  for (const toml::node& node : *list)
    rules.rules.push_back(LAGWATCH_TRY(ReadRule(*node.as_table(), settings)));
  return rules;
}

bool IsOfUser(pid_t pid, const std::string& user) {
  struct stat status {};
  if (stat(ProcessFolder(pid).c_str(), &status) != 0) return false;
  if (const auto number = base::ParseNumber<uid_t>(user)) return status.st_uid == *number;
  const passwd* entry = getpwnam(user.c_str());
  return entry != nullptr && entry->pw_uid == status.st_uid;
}

}  // namespace

bool WatchRule::Matches(const Target& target) const {
  return (program.empty() || IsNamed(target.pid, program)) && (unit.empty() || IsOfUnit(target.pid, unit)) &&
         (user.empty() || IsOfUser(target.pid, user));
}

const WatchRule* WatchRules::Find(const Target& target) const {
  const auto found = std::ranges::find_if(rules, [&](const WatchRule& rule) { return rule.Matches(target); });
  return found != rules.end() && found->is_watched ? &*found : nullptr;
}

void WatchRules::KeepQuotasOf(const WatchRules& before) {
  for (WatchRule& rule : rules) {
    const auto same =
        std::ranges::find_if(before.rules, [&](const auto& other) { return rule.IsSameAs(other); });
    if (same != before.rules.end()) rule.settings->quota = same->settings->quota;
  }
}

base::Result<WatchRules> ReadWatchRules(const std::filesystem::path& file) {
  try {
    return ReadTable(toml::parse_file(file.string()));
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    if (line == 0)
      return Status(StatusCode::kNotFound, "cannot be read; it must say what to watch (docs/attach.md)");
    return Status(StatusCode::kInvalid,
                  "line " + std::to_string(line) + ": " + std::string(error.description()));
  }
}

}  // namespace lagwatch::tools
