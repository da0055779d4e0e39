// SPDX-License-Identifier: Apache-2.0
#include "report/probes/probe_sums.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lagwatch::report {
namespace {

bool IsOfOneTable(const ProbeTable& one, const ProbeTable& other) {
  return one.name == other.name && one.kind == other.kind && one.unit == other.unit && one.keys == other.keys;
}

bool HasValues(const ProbeTable& table) { return table.kind != "count" && table.kind != "histogram"; }

size_t BytesOfKey(const std::vector<std::string>& key) {
  size_t bytes = sizeof(ProbeRow) + key.size() * sizeof(std::string);
  for (const std::string& part : key) bytes += part.size();
  return bytes;
}

// False if there are more than `most` then.
bool AddBuckets(const std::vector<ProbeBucket>& added, size_t most, std::vector<ProbeBucket>* sums) {
  bool has_all = true;
  for (const ProbeBucket& bucket : added) {
    const auto place = std::ranges::lower_bound(*sums, bucket.from, {}, &ProbeBucket::from);
    if (place != sums->end() && place->from == bucket.from)
      place->count = SumOfCounts(place->count, bucket.count);
    else if (sums->size() < most)
      sums->insert(place, bucket);
    else
      has_all = false;
  }
  return has_all;
}

double ValueOfBoth(const std::string& kind, double one, double other) {
  using Limits = std::numeric_limits<double>;
  if (kind == "min") return std::min(one, other);
  if (kind == "max") return std::max(one, other);
  return std::clamp(one + other, Limits::lowest(), Limits::max());
}

void SortRows(ProbeTable* table) {
  const bool is_minimum = table->kind == "min";
  std::ranges::stable_sort(table->rows, [&](const ProbeRow& one, const ProbeRow& other) {
    const auto number = NumberOfRow(table->kind, one);
    const auto of_other = NumberOfRow(table->kind, other);
    if (!number || !of_other) return number.has_value() && !of_other.has_value();
    return is_minimum ? *number < *of_other : *number > *of_other;
  });
}

}  // namespace

uint64_t SumOfCounts(uint64_t one, uint64_t other) {
  return one > std::numeric_limits<uint64_t>::max() - other ? std::numeric_limits<uint64_t>::max()
                                                            : one + other;
}

ProbeSums::Sum* ProbeSums::SumOf(const ProbeTable& table) {
  const auto same =
      std::ranges::find_if(sums_, [&](const Sum& sum) { return IsOfOneTable(sum.table, table); });
  if (same != sums_.end()) return &*same;
  if (sums_.size() == kMaxTables) return nullptr;
  sums_.push_back(
      {.table = {table.name, table.kind, table.unit, table.is_at_least, table.keys, {}}, .rows = {}});
  return &sums_.back();
}

bool ProbeSums::AddRow(const ProbeRow& added, Sum* sum) {
  auto place = sum->rows.find(added.key);
  if (place == sum->rows.end()) {
    const size_t bytes = BytesOfKey(added.key);
    if (sum->rows.size() == kMaxRows || bytes > kMaxBytes - bytes_) return false;
    bytes_ += bytes;
    place = sum->rows.try_emplace(added.key).first;
  }
  ProbeRow& row = place->second;
  if (HasValues(sum->table)) {
    if (!added.value) return false;
    row.value = row.value ? ValueOfBoth(sum->table.kind, *row.value, *added.value) : *added.value;
  }
  row.count = SumOfCounts(row.count, added.count);
  const size_t before = row.buckets.size();
  const size_t room = before + (kMaxBytes - bytes_) / sizeof(ProbeBucket);
  const bool has_all = AddBuckets(added.buckets, std::min(room, ProbeResult::kMaxBuckets), &row.buckets);
  bytes_ += (row.buckets.size() - before) * sizeof(ProbeBucket);
  return has_all;
}

void ProbeSums::Add(const std::vector<ProbeTable>& tables) {
  for (const ProbeTable& table : tables) {
    Sum* const sum = SumOf(table);
    if (sum == nullptr) continue;
    bool has_all = !table.is_at_least;
    for (const ProbeRow& row : table.rows) has_all &= AddRow(row, sum);
    sum->table.is_at_least |= !has_all;
  }
}

std::vector<ProbeTable> ProbeSums::Take() {
  std::vector<ProbeTable> tables;
  for (Sum& sum : sums_) {
    ProbeTable& table = tables.emplace_back(std::move(sum.table));
    while (!sum.rows.empty()) {
      auto row = sum.rows.extract(sum.rows.begin());
      row.mapped().key = std::move(row.key());
      table.rows.push_back(std::move(row.mapped()));
    }
    SortRows(&table);
  }
  sums_.clear();
  bytes_ = 0;
  return tables;
}

}  // namespace lagwatch::report
