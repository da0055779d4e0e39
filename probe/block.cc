// SPDX-License-Identifier: Apache-2.0
#include "probe/block.h"

#include <algorithm>

namespace lagwatch::probe {
namespace {

constexpr size_t kAlignment = 64;

// Hands out the parts of a block one after the other; without memory it only counts.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  template <typename Part>
  Part* Take(size_t count) {
    const size_t at = size_;
    size_ += (count * sizeof(Part) + kAlignment - 1) / kAlignment * kAlignment;
    return memory_ == nullptr ? nullptr : reinterpret_cast<Part*>(memory_ + at);
  }
  size_t size() const { return size_; }

 private:
  std::byte* memory_;
  size_t size_ = 0;
};

AggregateTable TableOf(const Aggregate& aggregate, Parts* parts) {
  AggregateTable table;
  table.kind = aggregate.kind;
  table.is_float = aggregate.shown == Shown::kFloat;
  table.keys = static_cast<uint8_t>(aggregate.keys.size());
  for (size_t i = 0; i < aggregate.keys.size(); ++i) {
    table.key_shown[i] = aggregate.keys[i].shown;
    table.key_widths[i] = aggregate.keys[i].width;
    table.has_texts |= aggregate.keys[i].shown == Shown::kText;
    table.key_words += static_cast<uint32_t>(WordsOf(aggregate.keys[i].shown, aggregate.keys[i].width));
  }
  table.mask = aggregate.cells - 1;
  table.shard_mask = aggregate.shards - 1;
  table.cell_words = static_cast<uint32_t>(1 + table.key_words + ValueWords(aggregate));
  table.lowest = aggregate.lowest;
  table.step = aggregate.step;
  table.buckets = aggregate.buckets;
  table.dropped = parts->Take<Word>(1);
  table.cells = parts->Take<Word>(size_t{aggregate.cells} * aggregate.shards * table.cell_words);
  return table;
}

RecordForm FormOf(const Print& print, size_t* most_words) {
  RecordForm form;
  size_t words = 0;
  for (const Field& field : print.fields) {
    if (field.shown == Shown::kLiteral) continue;
    form.shown[form.fields] = field.shown;
    form.widths[form.fields++] = field.width;
    words += WordsOf(field.shown, field.width);
  }
  *most_words = std::max(*most_words, words);
  return form;
}

void LayOut(const Program& program, Parts* parts, BlockView* view) {
  view->header = parts->Take<BlockHeader>(1);
  view->threads = parts->Take<ThreadSlot>(kThreadSlots);
  view->scratches = parts->Take<Scratch>(kScratches);
  view->counters = parts->Take<Counter>(program.counters);
  for (size_t i = 0; i < program.aggregates.size(); ++i) {
    view->aggregates[i] = TableOf(program.aggregates[i], parts);
  }
  size_t field_words = 0;
  for (size_t i = 0; i < program.prints.size(); ++i)
    view->prints[i] = FormOf(program.prints[i], &field_words);
  view->stacks.mask = program.stacks - 1;
  view->stacks.slots = parts->Take<Word>(program.stacks * kStackWords);
  view->records.mask = program.records - 1;
  view->records.slot_words = static_cast<uint32_t>(kRecordHeaderWords + field_words);
  view->records.slots = parts->Take<Word>(size_t{program.records} * view->records.slot_words);
  view->budget = program.budget;
  view->output_per_second = program.output_per_second;
}

}  // namespace

size_t ValueWords(const Aggregate& aggregate) {
  switch (aggregate.kind) {
    case AggregateKind::kCount:
    case AggregateKind::kSum:
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return 1;
    case AggregateKind::kAverage:
      return 2;
    case AggregateKind::kHistogram:
      return kHistogramBuckets;
    case AggregateKind::kLinearHistogram:
      return size_t{aggregate.buckets} + 2;
  }
  return 0;
}

size_t BlockBytes(const Program& program) {
  BlockView view;
  Parts parts(nullptr);
  LayOut(program, &parts, &view);
  return parts.size();
}

void LayOut(const Program& program, void* memory, BlockView* view) {
  Parts parts(memory);
  LayOut(program, &parts, view);
}

}  // namespace lagwatch::probe
