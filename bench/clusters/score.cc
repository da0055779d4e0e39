// SPDX-License-Identifier: Apache-2.0
#include "bench/clusters/score.h"

#include <algorithm>

namespace lagwatch::clusters {
namespace {

double Share(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

template <typename Key>
typename std::map<Key, size_t>::const_iterator Most(const std::map<Key, size_t>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

template <typename Key>
size_t Sum(const std::map<Key, size_t>& counts) {
  size_t sum = 0;
  for (const auto& [key, count] : counts) sum += count;
  return sum;
}

}  // namespace

void Score::Add(size_t cause, const std::string& key, const std::string& text) {
  ++by_cluster_[key][cause];
  ++by_cause_[cause][key];
  texts_[key] = text;
  ++total_;
}

double Score::Purity() const {
  size_t right = 0;
  for (const auto& [key, causes] : by_cluster_) right += Most(causes)->second;
  return Share(right, total_);
}

size_t Score::Largest(size_t cause) const { return Most(by_cause_.at(cause))->second; }

double Score::Wholeness() const {
  size_t together = 0;
  for (const auto& [cause, clusters] : by_cause_) together += Most(clusters)->second;
  return Share(together, total_);
}

double Score::WholenessOf(size_t cause) const { return Share(Largest(cause), Sum(by_cause_.at(cause))); }

std::vector<std::string> Score::Strays(size_t cause, const std::vector<std::string>& names) const {
  std::vector<std::pair<size_t, std::string>> strays;
  const auto& clusters = by_cause_.at(cause);
  const std::string& largest = Most(clusters)->first;
  for (const auto& [key, count] : clusters) {
    size_t owner = Most(by_cluster_.at(key))->first;
    if (owner != cause) strays.emplace_back(count, "of " + names[owner] + ": " + texts_.at(key));
    if (owner == cause && key != largest) strays.emplace_back(count, "in " + texts_.at(key));
  }
  std::sort(strays.rbegin(), strays.rend());
  std::vector<std::string> lines;
  for (const auto& [count, text] : strays) lines.push_back(std::to_string(count) + " " + text);
  return lines;
}

}  // namespace lagwatch::clusters
