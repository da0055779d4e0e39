// SPDX-License-Identifier: Apache-2.0
#include "collector/store/cluster_search.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

// As SQLite's and ClickHouse's lower() do.
std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return lower;
}

// Without the brackets and quotes around it.
std::string InJson(const std::string& text) {
  const std::string json = NamesToJson({text});
  return json.substr(2, json.size() - 4);
}

}  // namespace

ClusterSearch::ClusterSearch(std::string_view text) : text_(InLowerCase(text)), in_json_(InJson(text_)) {}

bool ClusterSearch::IsIn(std::string_view text) const {
  return InLowerCase(text).find(text_) != std::string::npos;
}

bool ClusterSearch::IsIn(const Cluster& cluster) const {
  const auto is_in = [this](const std::string& name) { return IsIn(name); };
  return IsIn(cluster.via) || std::ranges::any_of(cluster.frames, is_in) ||
         std::ranges::any_of(cluster.held_by, is_in);
}

bool ClusterSearch::IsIn(const std::string& frames_json, std::string_view via,
                         const std::string& held_by_json) const {
  return IsIn(via) || IsInNames(frames_json) || IsInNames(held_by_json);
}

// In the JSON text, a part of an escaped character may match although it is not in the name, and the texts
// between the names are brackets and commas. Most texts have neither, and need not be parsed.
bool ClusterSearch::IsInNames(const std::string& json) const {
  if (InLowerCase(json).find(in_json_) == std::string::npos) return false;
  const bool has_escapes = json.find('\\') != std::string::npos;
  if (!has_escapes && in_json_.find_first_not_of("[],") != std::string::npos) return true;
  return std::ranges::any_of(NamesFromJson(json), [this](const std::string& name) { return IsIn(name); });
}

}  // namespace lagwatch::collector
