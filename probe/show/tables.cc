// SPDX-License-Identifier: Apache-2.0
// Tables and histograms for people, and folded stacks.
#include <algorithm>
#include <numeric>

#include "probe/show/formats.h"
#include "probe/show/value_text.h"

namespace lagwatch::probe {
namespace {

constexpr size_t kBarWidth = 40;

std::string KeyText(const Aggregate& aggregate, const ResultRow& row, const AddressNamer& namer) {
  std::string text;
  for (size_t i = 0; i < row.key.size(); ++i) {
    text += (i == 0 ? "" : "  ") + ValueText(aggregate.keys[i].shown, row.key[i], namer);
  }
  return text;
}

// Behind another one. Stacks are on lines of their own.
std::string Column(const std::string& text) {
  return (text.empty() || text.starts_with('\n') ? "" : "  ") + text;
}

std::string Right(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string BoundText(const Aggregate& aggregate, size_t bucket) {
  const int64_t begin = BucketBegin(aggregate, bucket);
  return aggregate.shown == Shown::kDuration ? DurationText(begin) : std::to_string(begin);
}

// Lines "[1, 2)  12 |****|" from the first to the last bucket that has something.
std::string HistogramText(const Aggregate& aggregate, const ResultRow& row) {
  const auto has_some = [](uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(row.buckets, has_some);
  const auto last = std::find_if(row.buckets.rbegin(), row.buckets.rend(), has_some);
  if (first == row.buckets.end()) return "  (nothing)\n";
  const auto begin = static_cast<size_t>(first - row.buckets.begin());
  const auto end = static_cast<size_t>(last.base() - row.buckets.begin());
  const uint64_t most = *std::ranges::max_element(row.buckets);
  std::string lines;
  for (size_t bucket = begin; bucket < end; ++bucket) {
    const std::string low = bucket == 0 ? "(below" : "[" + BoundText(aggregate, bucket);
    const std::string high = bucket + 1 == row.buckets.size() ? "above" : BoundText(aggregate, bucket + 1);
    const auto stars =
        static_cast<size_t>(static_cast<double>(row.buckets[bucket]) / static_cast<double>(most) * kBarWidth);
    lines += "  " + Right(low + ", " + high + ")", 24) + Right(std::to_string(row.buckets[bucket]), 12) +
             " |" + std::string(stars, '*') + std::string(kBarWidth - stars, ' ') + "|\n";
  }
  return lines;
}

}  // namespace

std::string AsText(const Aggregate& aggregate, const AggregateResult& result, const AddressNamer& namer) {
  std::string text = aggregate.name + (result.is_at_least ? ", at least\n" : "\n");
  if (result.rows.empty()) return text + "  (nothing)\n";
  size_t width = 0;
  for (const ResultRow& row : result.rows) width = std::max(width, RowText(aggregate, row).size());
  for (const ResultRow& row : result.rows) {
    if (IsHistogram(aggregate.kind)) {
      if (!row.key.empty()) text += "  " + KeyText(aggregate, row, namer) + "\n";
      text += HistogramText(aggregate, row);
    } else {
      text += "  " + Right(RowText(aggregate, row), width) + Column(KeyText(aggregate, row, namer)) + "\n";
    }
  }
  return text;
}

std::string AsText(const Program& program, const Record& record, const AddressNamer& namer) {
  std::string text =
      NumberText(static_cast<double>(record.mono_ns / 1'000) / 1e6) + "  " + std::to_string(record.tid);
  size_t index = 0;
  for (const Field& field : program.prints[record.print].fields) {
    const bool is_literal = field.shown == Shown::kLiteral;
    text += Column(is_literal ? field.name : ValueText(field.shown, record.values[index], namer));
    index += !is_literal;
  }
  return text + "\n";
}

std::string AsFoldedStacks(const Aggregate& aggregate, const AggregateResult& result,
                           const AddressNamer& namer) {
  std::string lines;
  for (const ResultRow& row : result.rows) {
    for (size_t i = 0; i < row.key.size(); ++i) {
      if (aggregate.keys[i].shown != Shown::kStack) continue;
      std::string line;
      for (auto address = row.key[i].stack.rbegin(); address != row.key[i].stack.rend(); ++address) {
        std::string name = namer(*address);
        std::ranges::replace(name, ';', ':');
        line += (line.empty() ? "" : ";") + name;
      }
      lines += (line.empty() ? "(no stack)" : line) + ' ' + RowText(aggregate, row) + '\n';
      break;
    }
  }
  return lines;
}

}  // namespace lagwatch::probe
