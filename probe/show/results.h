// SPDX-License-Identifier: Apache-2.0
// The results of a program as values: what a process has sent, read with the program that was sent to it. The
// bytes come from another process and are checked. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "probe/program.h"

namespace lagwatch::probe {

using Stack = std::vector<uint64_t>;  // addresses, the innermost first

// A part of a key or a field of a record: a number (also a float's bits), a text or a stack.
struct ResultValue {
  uint64_t number = 0;
  std::string text{};
  bool is_cut = false;         // the text goes on
  bool is_unreadable = false;  // it could not be read
  Stack stack{};

  friend auto operator<=>(const ResultValue&, const ResultValue&) = default;
};

// One key of an aggregate, with all shards added up.
struct ResultRow {
  std::vector<ResultValue> key;
  uint64_t count = 0;     // count, average, histograms
  int64_t number = 0;     // sum, min, max, and the average's sum
  double real = 0;        // the same of floats
  bool has_value = true;  // false of a minimum or maximum of nothing
  std::vector<uint64_t> buckets{};
};

struct AggregateResult {
  std::vector<ResultRow> rows;  // the largest first
  bool is_at_least = false;     // hits are missing that would have been added
};

struct Record {
  int64_t mono_ns = 0;
  uint32_t tid = 0;
  uint32_t print = 0;               // the index in Program::prints
  std::vector<ResultValue> values;  // of its fields but literals
};

// Adds up what ProbeState::Snapshot() returned. kInvalid if it is not of this program.
Result<std::vector<AggregateResult>> ReadSnapshot(const Program& program, std::string_view bytes);
// The records that ProbeState::TakeRecords() appended. `stacks` are those of a snapshot taken afterwards (ReadStacks()).
Result<std::vector<Record>> ReadRecords(const Program& program, const std::map<uint64_t, Stack>& stacks,
                                        std::string_view bytes);
Result<std::map<uint64_t, Stack>> ReadStacks(const Program& program, std::string_view snapshot);

// The beginning of a histogram's bucket; the first bucket has none.
int64_t BucketBegin(const Aggregate& aggregate, size_t bucket);

}  // namespace lagwatch::probe
