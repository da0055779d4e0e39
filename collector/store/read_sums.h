// SPDX-License-Identifier: Apache-2.0
// Reads the sums of causes from a row of either store. Context: background.
#pragma once

#include "collector/cluster/cause_sums.h"

namespace lagwatch::collector {

// Reads the columns of sums, from `first_column` on: reports, hangs, hang_ns, weighted_hangs,
// weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms and the sketches. Throws what the row throws.
template <typename Row, typename Column>
CauseSums ReadSums(const Row& row, Column first_column) {
  CauseSums sums;
  sums.reports = row.Int(first_column);
  sums.hangs = row.Int(first_column + 1);
  sums.hang_ns = row.Real(first_column + 2);
  sums.weighted_hangs = row.Real(first_column + 3);
  sums.weighted_hang_ns = row.Real(first_column + 4);
  sums.longest_ns = row.Int(first_column + 5);
  sums.first_seen_ms = row.Int(first_column + 6);
  sums.last_seen_ms = row.Int(first_column + 7);
  DecodeSketches(row.Bytes(first_column + 8), &sums);
  return sums;
}

}  // namespace lagwatch::collector
