// SPDX-License-Identifier: Apache-2.0
#include "probe/show/results.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "probe/block.h"

namespace lagwatch::probe {
namespace {

Status NotOfThisProgram() { return Status(StatusCode::kInvalid, "the results are not of this script"); }

class Words {
 public:
  explicit Words(std::string_view bytes) : bytes_(bytes) {}

  bool Has(size_t count) const { return bytes_.size() / 8 >= count; }
  bool is_empty() const { return bytes_.empty(); }
  std::vector<uint64_t> Take(size_t count) {
    std::vector<uint64_t> words(count);
    std::memcpy(words.data(), bytes_.data(), 8 * count);
    bytes_.remove_prefix(8 * count);
    return words;
  }

 private:
  std::string_view bytes_;
};

struct Slot {
  uint64_t index = 0;
  std::vector<uint64_t> words;  // without the hash
};

// A table as ProbeState::Snapshot() writes it.
Result<std::vector<Slot>> TakeTable(Words* words, size_t most, size_t slot_words) {
  if (!words->Has(1)) return NotOfThisProgram();
  const uint64_t count = words->Take(1)[0];
  if (count > most || !words->Has(count * slot_words)) return NotOfThisProgram();
  std::vector<Slot> slots(count);
  for (Slot& slot : slots) {
    slot.index = words->Take(1)[0];
    slot.words = words->Take(slot_words - 1);
  }
  return slots;
}

ResultValue ReadValue(const uint64_t* words, const Field& field, const std::map<uint64_t, Stack>& stacks) {
  ResultValue value;
  if (field.shown == Shown::kStack) {
    if (const auto found = stacks.find(words[0]); found != stacks.end()) value.stack = found->second;
    return value;
  }
  if (field.shown != Shown::kText) {
    value.number = words[0];
    return value;
  }
  uint16_t length = 0;
  std::memcpy(&length, words, sizeof length);
  value.is_unreadable = length == kUnreadableText;
  if (value.is_unreadable) return value;
  value.is_cut = (length & kCutText) != 0;
  value.text.assign(reinterpret_cast<const char*>(words) + 2,
                    std::min<size_t>(length & ~kCutText, field.width));
  return value;
}

std::vector<ResultValue> ReadValues(const uint64_t* words, const std::vector<Field>& fields,
                                    const std::map<uint64_t, Stack>& stacks) {
  std::vector<ResultValue> values;
  for (const Field& field : fields) {
    if (field.shown == Shown::kLiteral) continue;
    values.push_back(ReadValue(words, field, stacks));
    words += WordsOf(field.shown, field.width);
  }
  return values;
}

size_t KeyWords(const Aggregate& aggregate) {
  size_t words = 0;
  for (const Field& key : aggregate.keys) words += WordsOf(key.shown, key.width);
  return words;
}

// Back from the order of unsigned numbers, in which minima and maxima are kept.
uint64_t FromOrdered(uint64_t ordered, bool is_float) {
  const uint64_t sign = uint64_t{1} << 63;
  return is_float && (ordered & sign) == 0 ? ~ordered : ordered ^ sign;
}

// The nearest number that there is.
uint64_t SumOfNumbers(uint64_t one, uint64_t other) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(static_cast<int64_t>(one), static_cast<int64_t>(other), &sum))
    return static_cast<uint64_t>(sum);
  return static_cast<uint64_t>(static_cast<int64_t>(one) < 0 ? INT64_MIN : INT64_MAX);
}

// Adds the words of a cell to those of the same key. All are sums but minima and maxima, which are kept so
// that the larger one counts.
void AddWords(const Aggregate& aggregate, const uint64_t* words, std::vector<uint64_t>* total) {
  const bool is_float = aggregate.shown == Shown::kFloat;
  for (size_t i = 0; i < total->size(); ++i) {
    uint64_t& sum = (*total)[i];
    if (aggregate.kind == AggregateKind::kMin || aggregate.kind == AggregateKind::kMax) {
      sum = std::max(sum, words[i]);
    } else if (is_float && i == 0) {
      sum = std::bit_cast<uint64_t>(std::bit_cast<double>(sum) + std::bit_cast<double>(words[i]));
    } else {
      sum = SumOfNumbers(sum, words[i]);
    }
  }
}

ResultRow RowOf(const Aggregate& aggregate, std::vector<ResultValue> key,
                const std::vector<uint64_t>& words) {
  ResultRow row{.key = std::move(key)};
  uint64_t bits = words[0];
  switch (aggregate.kind) {
    case AggregateKind::kCount:
      row.count = bits;
      return row;
    case AggregateKind::kHistogram:
    case AggregateKind::kLinearHistogram:
      row.buckets = words;
      for (const uint64_t count : words) row.count += count;
      return row;
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      row.has_value = bits != 0;
      bits =
          FromOrdered(aggregate.kind == AggregateKind::kMin ? ~bits : bits, aggregate.shown == Shown::kFloat);
      break;
    case AggregateKind::kAverage:
      row.count = words[1];
      break;
    case AggregateKind::kSum:
      break;
  }
  row.number = static_cast<int64_t>(bits);
  row.real = std::bit_cast<double>(bits);
  return row;
}

double WeightOf(const Aggregate& aggregate, const ResultRow& row) {
  const double number = aggregate.shown == Shown::kFloat ? row.real : static_cast<double>(row.number);
  if (aggregate.kind == AggregateKind::kAverage)
    return row.count == 0 ? 0 : number / static_cast<double>(row.count);
  return CountsHits(aggregate.kind) ? static_cast<double>(row.count) : number;
}

struct Tables {
  std::vector<std::vector<Slot>> aggregates;
  std::map<uint64_t, Stack> stacks;
};

Result<Tables> ReadTables(const Program& program, std::string_view bytes) {
  Tables tables;
  Words words(bytes);
  for (const Aggregate& aggregate : program.aggregates) {
    const size_t cell_words = 1 + KeyWords(aggregate) + ValueWords(aggregate);
    tables.aggregates.push_back(
        LAGWATCH_TRY(TakeTable(&words, size_t{aggregate.cells} * aggregate.shards, cell_words)));
  }
  for (const Slot& slot : LAGWATCH_TRY(TakeTable(&words, program.stacks, kStackWords))) {
    const auto end = std::ranges::find(slot.words, 0u);
    tables.stacks.emplace(slot.index + 1, Stack(slot.words.begin(), end));
  }
  if (!words.is_empty()) return NotOfThisProgram();
  return tables;
}

}  // namespace

Result<std::vector<AggregateResult>> ReadSnapshot(const Program& program, std::string_view bytes) {
  const Tables tables = LAGWATCH_TRY(ReadTables(program, bytes));
  std::vector<AggregateResult> results;
  for (size_t i = 0; i < program.aggregates.size(); ++i) {
    const Aggregate& aggregate = program.aggregates[i];
    std::map<std::vector<ResultValue>, std::vector<uint64_t>> totals;
    for (const Slot& slot : tables.aggregates[i]) {
      auto& total = totals[ReadValues(slot.words.data(), aggregate.keys, tables.stacks)];
      total.resize(ValueWords(aggregate));
      AddWords(aggregate, slot.words.data() + KeyWords(aggregate), &total);
    }
    AggregateResult result;
    for (auto& [key, total] : totals) {
      const bool is_empty = std::ranges::all_of(total, [](uint64_t word) { return word == 0; });
      if (!is_empty || !key.empty()) result.rows.push_back(RowOf(aggregate, key, total));
    }
    const bool is_minimum = aggregate.kind == AggregateKind::kMin;  // the smallest first
    std::ranges::stable_sort(result.rows, [&](const ResultRow& one, const ResultRow& other) {
      const double weight = WeightOf(aggregate, one);
      const double other_weight = WeightOf(aggregate, other);
      return is_minimum ? weight < other_weight : weight > other_weight;
    });
    if (aggregate.top != 0 && result.rows.size() > aggregate.top) result.rows.resize(aggregate.top);
    results.push_back(std::move(result));
  }
  return results;
}

Result<std::map<uint64_t, Stack>> ReadStacks(const Program& program, std::string_view snapshot) {
  return LAGWATCH_TRY(ReadTables(program, snapshot)).stacks;
}

Result<std::vector<Record>> ReadRecords(const Program& program, const std::map<uint64_t, Stack>& stacks,
                                        std::string_view bytes) {
  size_t most_words = 0;  // all records are as long as the longest
  for (const Print& print : program.prints) {
    size_t words = 0;
    for (const Field& field : print.fields) words += WordsOf(field.shown, field.width);
    most_words = std::max(most_words, words);
  }
  const size_t record_words = kRecordHeaderWords - 1 + most_words;
  if (bytes.size() % (8 * record_words) != 0) return NotOfThisProgram();
  std::vector<Record> records;
  Words all(bytes);
  while (!all.is_empty()) {
    const std::vector<uint64_t> words = all.Take(record_words);
    Record record{.mono_ns = static_cast<int64_t>(words[0]),
                  .tid = static_cast<uint32_t>(words[1]),
                  .print = static_cast<uint32_t>(words[1] >> 32),
                  .values = {}};
    if (record.print >= program.prints.size()) return NotOfThisProgram();
    record.values = ReadValues(words.data() + 2, program.prints[record.print].fields, stacks);
    records.push_back(std::move(record));
  }
  return records;
}

int64_t BucketBegin(const Aggregate& aggregate, size_t bucket) {
  if (aggregate.kind == AggregateKind::kLinearHistogram) {
    return aggregate.lowest + (static_cast<int64_t>(bucket) - 1) * aggregate.step;
  }
  if (bucket <= 1) return 0;
  return bucket - 2 >= 63 ? INT64_MAX : int64_t{1} << (bucket - 2);
}

}  // namespace lagwatch::probe
