// SPDX-License-Identifier: Apache-2.0
// Measures how well clusters separate causes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace lagwatch::clusters {

// Counts each report's cluster and cause.
class Score {
 public:
  void Add(size_t cause, const std::string& key, const std::string& text);

  size_t total() const { return total_; }
  // The share of reports that are in a cluster most of which is of their cause.
  double Purity() const;
  // The share of reports that are in the largest cluster of their cause.
  double Wholeness() const;
  double WholenessOf(size_t cause) const;
  // "COUNT of ANOTHER CAUSE" or "COUNT in CLUSTER", the most first: where the reports of `cause` are instead.
  std::vector<std::string> Strays(size_t cause, const std::vector<std::string>& names) const;

 private:
  size_t Largest(size_t cause) const;

  std::map<std::string, std::map<size_t, size_t>> by_cluster_;  // key, cause: reports
  std::map<size_t, std::map<std::string, size_t>> by_cause_;
  std::map<std::string, std::string> texts_;
  size_t total_ = 0;
};

}  // namespace lagwatch::clusters
