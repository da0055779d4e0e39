// SPDX-License-Identifier: Apache-2.0
// Sums up reports by their clusters, one by one, for queries without kept sums. Context:
// background. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collector/store/records.h"

namespace lagwatch::collector {

// Names of a cause's programs and versions, as many as are of use to a person.

inline constexpr size_t kMostNamesOfACause = 50;  // of programs; and of versions

struct CauseNames {
  std::vector<std::string> names;  // sorted
  int64_t more = 0;                // others
};

// Hang time by name.
using NameCosts = std::map<std::string, double>;

// Those of the most hang time. Of versions the newest is among them: whether a cause came back depends on it.
CauseNames CostliestNames(const NameCosts& costs);
CauseNames CostliestVersions(const NameCosts& costs);

// Of the children of a cluster that is shown alone.
constexpr int64_t kAllChildren = 100;

// The report's part in the sums of its clusters; borrows its user.
Contribution ContributionOf(const ReportRow& report);
// A lost report is taken for one like those of its cluster that came: so many to each of them.
void Estimate(double lost_per_report, CauseRow* cause);
double EstimatedHangNs(double lost_per_report, const CauseSums& sums);
// The costliest first.
void SortByCost(std::vector<CauseRow>* causes);
// Widens the cause's first and last version by this one.
void AddVersion(const std::string& version, CauseRow* cause);
// The causes of a page and their children.
void ForEachCause(CausePage* page, const std::function<void(CauseRow*)>& visit);

// The sums of a cause, and its hang time by the names that it is shown with.
struct CauseTotals {
  CauseSums sums = {};
  NameCosts apps = {}, versions = {}, verdicts = {};

  void AddNames(const std::string& app, const std::string& version, const std::string& verdict,
                double hang_ns);
  // Sets the programs, versions and verdicts of `cause`.
  void WriteNamesTo(CauseRow* cause) const;
};

class ReportSummer {
 public:
  // The ratio of lost to received reports of a cluster; the empty key is that of all.
  using LostPerReport = std::function<double(const std::string& key)>;

  // Without one, none are lost.
  explicit ReportSummer(LostPerReport lost_per_report = {});

  // Ignores reports that do not count in clusters.
  void Add(const ReportRow& report);

  // The part of the page that `query` asks for, of `wanted` clusters (null: all). Of its clusters, only the
  // keys are known.
  CausePage ToPage(const CauseQuery& query, const std::set<std::string>* wanted = nullptr) const;
  // One of them, with its children; of no reports when there are none.
  CauseRow ToCause(const std::string& key, int level, int64_t child_limit) const;

 private:
  using TotalsByCause = std::map<std::string, CauseTotals>;  // by cluster key

  static void AddTo(CauseTotals* sum, const ReportRow& report);
  CauseRow ToRow(const std::string& key, const CauseTotals& sum) const;
  std::vector<CauseRow> Children(const std::string& key, int64_t limit) const;

  LostPerReport lost_per_report_;
  CauseTotals all_;
  std::array<TotalsByCause, 2> levels_;
  std::map<std::string, std::set<std::string>> children_;  // of each level-1 cluster
};

}  // namespace lagwatch::collector
