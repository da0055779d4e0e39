// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/probe_view.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/clock.h"
#include "probe/show/formats.h"
#include "tools/read/table.h"

namespace lagwatch::tools {

bool ProbeView::PrintsStacks() const {
  return std::ranges::any_of(program_.prints, [](const probe::Print& print) {
    return std::ranges::any_of(print.fields,
                               [](const auto& field) { return field.shown == probe::Shown::kStack; });
  });
}

bool ProbeView::CountsReturns() const {
  using probe::PlaceKind;
  return std::ranges::any_of(program_.probes, [](const probe::Probe& each) {
    constexpr PlaceKind kWithReturn[] = {PlaceKind::kReturn, PlaceKind::kError, PlaceKind::kDuration,
                                         PlaceKind::kAlloc,  PlaceKind::kLock,  PlaceKind::kIo};
    return std::ranges::find(kWithReturn, each.place.kind) != std::end(kWithReturn);
  });
}

void ProbeView::Add(const sdk::ReadAnswer& answer) {
  for (const sdk::NamedFrame& frame : answer.frames) frames_[frame.address] = frame.name;
  std::map<uint64_t, probe::Stack> stacks;
  if (!answer.snapshot.empty()) {
    auto found = probe::ReadStacks(program_, answer.snapshot);
    auto aggregates = probe::ReadSnapshot(program_, answer.snapshot);
    if (!found.ok() || !aggregates.ok()) {
      damage_ = "the process sent a damaged table";
      return;
    }
    stacks = std::move(found).value();
    aggregates_ = std::move(aggregates).value();
    const bool is_missing =
        answer.lost != 0 || answer.missed != 0 || (answer.returns_missed != 0 && CountsReturns());
    for (size_t i = 0; i < std::min(aggregates_.size(), program_.aggregates.size()); ++i) {
      const probe::AggregateKind kind = program_.aggregates[i].kind;
      aggregates_[i].is_at_least =
          is_missing && (probe::CountsHits(kind) || kind == probe::AggregateKind::kSum);
    }
  }
  auto records = probe::ReadRecords(program_, stacks, answer.records);
  if (!records.ok()) {
    damage_ = "the process sent damaged records";
    return;
  }
  KeepForPerfetto(!answer.snapshot.empty(), *records);
  std::ranges::move(*records, std::back_inserter(records_));
}

void ProbeView::KeepForPerfetto(bool has_aggregates, const std::vector<probe::Record>& records) {
  if (!recording_) return;
  const auto namer = [this](uint64_t address) { return NameOf(address, /*has_offset=*/false); };
  for (const probe::Record& record : records) recording_->AddRecord(record, namer);
  if (!has_aggregates) return;
  const int64_t now_ns = base::SystemClock().MonoNs();
  for (size_t i = 0; i < std::min(aggregates_.size(), program_.aggregates.size()); ++i)
    recording_->AddAggregate(now_ns, program_.aggregates[i], aggregates_[i], namer);
}

std::string ProbeView::NameOf(uint64_t address, bool has_offset) {
  const auto frame = frames_.find(address);
  if (frame != frames_.end()) return Printable(frame->second);
  return Printable(functions_.NameOf(address, has_offset));
}

std::string ProbeView::TakeLines(bool is_json) {
  std::string lines;
  const auto namer = [this](uint64_t address) { return NameOf(address, /*has_offset=*/false); };
  for (const probe::Record& record : records_)
    lines += is_json ? probe::AsJsonLine(program_, record, namer) : probe::AsText(program_, record, namer);
  records_.clear();
  return lines;
}

void ProbeView::ForEachAggregate(const VisitAggregate& visit) {
  for (size_t i = 0; i < std::min(aggregates_.size(), program_.aggregates.size()); ++i) {
    const auto& keys = program_.aggregates[i].keys;
    const bool has_calls =
        std::ranges::any_of(keys, [](const auto& key) { return key.shown == probe::Shown::kAddress; });
    visit(program_.aggregates[i], aggregates_[i],
          [&](uint64_t address) { return NameOf(address, has_calls); });
  }
}

template <typename Show>
std::string ProbeView::OfAggregates(Show show) {
  std::string text;
  ForEachAggregate([&](const auto&... parts) { text += show(parts...); });
  return text;
}

std::string ProbeView::Tables() {
  return OfAggregates([](const auto&... parts) { return probe::AsText(parts...); });
}
std::string ProbeView::JsonTables() {
  return OfAggregates([](const auto&... parts) { return probe::AsJsonLines(parts...); });
}
std::string ProbeView::FoldedStacks() {
  return OfAggregates([](const auto&... parts) { return probe::AsFoldedStacks(parts...); });
}
std::string ProbeView::Statsd() {
  return OfAggregates([](const auto&... parts) { return probe::AsStatsd(parts...); });
}
std::string ProbeView::Prometheus() {
  return OfAggregates([](const auto&... parts) { return probe::AsPrometheus(parts...); });
}

}  // namespace lagwatch::tools
