// SPDX-License-Identifier: Apache-2.0
// The result of a probe that a collector asked for, as a client sends it: tables by key, of one run in one
// process, or the reason why there are none. The payload of a TraceRecord with the reason kProbeReason.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::report {

struct ProbeBucket {
  std::optional<int64_t> from;  // none: of all that is below the first bucket
  uint64_t count = 0;

  bool operator==(const ProbeBucket&) const = default;
};

struct ProbeRow {
  // The parts of the key, each as JSON: a number, a text, null (it could not be read), or an array of the
  // functions of a stack, the innermost first.
  std::vector<std::string> key{};
  uint64_t count = 0;  // of counts, averages and histograms
  // Of sums, minima and maxima; of averages the sum. None: it is no finite number.
  std::optional<double> value{};
  std::vector<ProbeBucket> buckets{};  // of histograms, those that have something

  bool operator==(const ProbeRow&) const = default;
};

struct ProbeTable {
  std::string name;
  std::string kind;  // "count", "sum", "min", "max", "avg", "histogram"
  std::string unit;  // of the value: "ns", or empty
  bool is_at_least = false;
  std::vector<std::string> keys;  // their names
  std::vector<ProbeRow> rows;

  bool operator==(const ProbeTable&) const = default;
};

struct ProbeResult {
  static constexpr size_t kMaxTables = 64;
  static constexpr size_t kMaxKeyParts = 16;
  static constexpr size_t kMaxRows = 1'000;  // of a table
  static constexpr size_t kMaxBuckets = 256;
  static constexpr uint64_t kMaxCount = uint64_t{1} << 53;  // up to here all of JSON's numbers are exact
  static constexpr size_t kMaxUnpackedBytes = 4 << 20;

  std::string script = {};   // HashOfScript()
  std::string name = {};     // as the allowlist has it; empty if it does not have the script
  std::string refusal = {};  // the reason why it did not run; empty: it did
  uint64_t functions = 0;
  uint64_t hits = 0;
  uint64_t left_out = 0;  // to stay within the budget
  uint64_t missed = 0;
  bool is_off = false;  // it turned itself off, because hitting it alone took more than its budget
  std::vector<ProbeTable> tables = {};

  bool operator==(const ProbeResult&) const = default;
};

// JSON, gzipped.
std::string PackProbeResult(const ProbeResult& result);
// Errors: kInvalid if it is malformed; kTooLarge over a limit.
base::Result<ProbeResult> UnpackProbeResult(std::string_view packed);
// All but its tables, which are not looked at and take no memory.
base::Result<ProbeResult> UnpackProbeHeader(std::string_view packed);

// The number that a row is about: the count, the sum, the average. None: it has none.
std::optional<double> NumberOfRow(const std::string& kind, const ProbeRow& row);

// "outermost;…;innermost COUNT" a line, for flame graphs, of the tables that have stacks in their keys.
std::string FoldedProbeStacks(const std::vector<ProbeTable>& tables);
// The table as a JSON text, as clients send it.
std::string ProbeTableJson(const ProbeTable& table);

}  // namespace lagwatch::report
