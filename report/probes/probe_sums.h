// SPDX-License-Identifier: Apache-2.0
// Tables of the results of many clients, added up. All that strangers can make grow has an end: what is
// beyond it is left out, and the table says "at least". Context: background; pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/probes/probe_result.h"

namespace lagwatch::report {

// The largest number if the sum is beyond it.
uint64_t SumOfCounts(uint64_t one, uint64_t other);

class ProbeSums {
 public:
  static constexpr size_t kMaxTables = 2 * ProbeResult::kMaxTables;  // a script's, also of an older version
  static constexpr size_t kMaxRows = 10 * ProbeResult::kMaxRows;     // of a table
  static constexpr size_t kMaxBytes = size_t{64} << 20;              // of all rows

  // Tables of the same name, kind, unit and keys are one, and so are their rows with the same key. Rows
  // without a value leave the sum as it is.
  void Add(const std::vector<ProbeTable>& tables);
  // With the largest rows first; of minima the smallest. Nothing is left.
  std::vector<ProbeTable> Take();

 private:
  struct Sum {
    ProbeTable table;                                   // without rows
    std::map<std::vector<std::string>, ProbeRow> rows;  // without their keys
  };

  Sum* SumOf(const ProbeTable& table);
  // False if a part of it has no room.
  bool AddRow(const ProbeRow& added, Sum* sum);

  std::vector<Sum> sums_;
  size_t bytes_ = 0;
};

}  // namespace lagwatch::report
