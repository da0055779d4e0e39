// SPDX-License-Identifier: Apache-2.0
// Summarizes the reports of one cause: a flame graph of their samples, their tags, and the owners of their
// locks. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/query/causes/package_shares.h"
#include "collector/query/json/frame_table.h"
#include "collector/query/json/json_text.h"
#include "collector/store/records.h"
#include "collector/symbols/names/symbolizer.h"
#include "policies/cluster_rules.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// The time that a stack of a report took.
struct StackTime {
  uint32_t stack = 0;  // its number in the report
  double ns = 0;
};
// Of all samples from the hang's age `begin_ns` on. A stack counts until the next one was seen. Of use of the
// CPU, and of a slow dispatch's tree, samples are not one after the other: there each has its time.
std::vector<StackTime> StackTimesOf(const ReportRow& row, const report::Report& report, int64_t begin_ns);

class CauseSamples {
 public:
  static constexpr size_t kMaxSamples = 20'000;
  static constexpr size_t kMaxTableBytes = 16 << 20;  // of frames and stacks; the last report may go beyond
  static constexpr size_t kMaxListed = 20;            // tags, and owners

  // `rows` are all that may be added; borrows the others. `symbolizer` may be null.
  CauseSamples(std::span<const ReportRow> rows, const policies::ClusterRules& rules, Symbolizer* symbolizer);

  // The newest report first; false when there is no room for it, nor for older ones. Takes as long as
  // the symbolizer does.
  bool TryAdd(const ReportRow& row, const report::Report& report);

  // {"reports", "frames", "stacks", "samples", "packages", "tags", "owners", "names_pending"}, as
  // collector/API.md says.
  Json ToJson() const;

 private:
  using Sample = StackTime;  // `stack` is then its number in the table
  struct Tally {
    int64_t reports = 0;
    double hang_ns = 0;

    void Add(const ReportRow& row) {
      ++reports;
      hang_ns += static_cast<double>(row.hang_ns);
    }
  };
  struct Owner {
    Tally tally;
    std::string name;
    std::string kind;
    FrameTable::Stack stack;
  };

  int64_t EarlierReportOf(const ReportRow& row) const;
  void AddOwner(const ReportRow& row, const report::Report& report, const SymbolNamer& namer,
                const NamedStacks& names);
  Json SamplesJson() const;
  Json TagsJson() const;
  Json OwnersJson() const;

  const policies::ClusterRules& rules_;
  Symbolizer* const symbolizer_;
  std::map<std::string, std::vector<int64_t>> reports_of_hangs_;  // ages of a hang at its reports, by hang_id
  FrameTable table_;
  PackageShares packages_;
  std::vector<std::vector<Sample>> samples_;  // of each report, the newest first
  size_t sample_count_ = 0;
  bool has_pending_names_ = false;
  std::map<std::pair<std::string, std::string>, Tally> tags_;  // by loop and tag
  std::map<std::string, Owner> owners_;                        // by where they were
};

}  // namespace lagwatch::collector
