// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/perfetto_recording.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "probe/operation.h"
#include "probe/show/value_text.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kMostEvents = 1'000'000;
constexpr size_t kMostCounters = 1'000;

constexpr const char* kPlaceWords[] = {
#define PROBE_PLACE(name, text, help) text,
#include "probe/places.def"
};

std::string PlaceText(const probe::Place& place) {
  return place.name.empty() ? kPlaceWords[static_cast<size_t>(place.kind)] : place.name;
}

trace::EventArgument ArgumentOf(const probe::Field& field, const probe::ResultValue& value,
                                const probe::AddressNamer& namer) {
  switch (field.shown) {
    case probe::Shown::kNumber:
    case probe::Shown::kDuration:
    case probe::Shown::kTime:
      return {field.name, static_cast<int64_t>(value.number)};
    case probe::Shown::kUnsigned:
      return {field.name, value.number};
    case probe::Shown::kFloat:
      return {field.name, std::bit_cast<double>(value.number)};
    default:
      return {field.name, probe::ValueText(field.shown, value, namer)};
  }
}

}  // namespace

PerfettoRecording::PerfettoRecording(pid_t pid, const probe::Program& program)
    : pid_(pid), program_(program), names_(program.prints.size(), "probe") {
  for (const probe::Probe& each : program.probes) {
    for (const probe::Operation& operation : each.operations) {
      const auto print = static_cast<size_t>(operation.number);
      if (operation.code == probe::OperationCode::kPrint && print < names_.size())
        names_[print] = PlaceText(each.place);
    }
  }
  const base::Clock& clock = base::SystemClock();
  header_.pid = pid;
  header_.process_name = CommandOf(pid);
  header_.begin_ns = clock.MonoNs();
  header_.boot_minus_mono_ns = clock.BootNs() - header_.begin_ns;
  header_.wall_minus_mono_ns = clock.WallMs() * base::kNsPerMs - header_.begin_ns;
}

void PerfettoRecording::AddRecord(const probe::Record& record, const probe::AddressNamer& namer) {
  if (events_.size() >= kMostEvents) {
    ++left_out_;
    return;
  }
  const auto tid = static_cast<int32_t>(record.tid);
  if (std::ranges::none_of(header_.threads, [&](const auto& thread) { return thread.tid == tid; })) {
    trace::Thread& thread = header_.threads.emplace_back();
    thread.tid = tid;
    thread.name = LineIn(ProcessFolder(pid_) / "task" / std::to_string(tid) / "comm");
  }
  trace::ThreadEvent event{.tid = tid,
                           .begin_ns = record.mono_ns,
                           .end_ns = record.mono_ns,
                           .name = names_[record.print],
                           .arguments = {}};
  size_t index = 0;
  for (const probe::Field& field : program_.prints[record.print].fields) {
    if (field.shown == probe::Shown::kLiteral) {
      event.arguments.emplace_back("text", field.name);
      continue;
    }
    const probe::ResultValue& value = record.values[index++];
    const auto number = static_cast<int64_t>(value.number);
    if (field.shown == probe::Shown::kDuration && field.name == "duration" && number >= 0)
      event.begin_ns = event.end_ns - number;
    if (field.shown == probe::Shown::kAddress && field.name == "function")
      event.name = namer(value.number);
    else
      event.arguments.push_back(ArgumentOf(field, value, namer));
  }
  events_.push_back(std::move(event));
}

trace::NamedCounter* PerfettoRecording::CounterFor(const probe::Aggregate& aggregate,
                                                   const std::string& key) {
  const std::string name = aggregate.name + (key.empty() ? "" : " " + key);
  const auto known = counter_numbers_.find(name);
  if (known != counter_numbers_.end()) return &counters_[known->second];
  if (counters_.size() >= kMostCounters) return nullptr;
  counter_numbers_[name] = counters_.size();
  const bool is_time = !probe::CountsHits(aggregate.kind) && aggregate.shown == probe::Shown::kDuration;
  counters_.push_back({.name = name, .is_time = is_time, .values = {}});
  return &counters_.back();
}

void PerfettoRecording::AddAggregate(int64_t mono_ns, const probe::Aggregate& aggregate,
                                     const probe::AggregateResult& result, const probe::AddressNamer& namer) {
  const auto is_stack = [](const probe::Field& field) { return field.shown == probe::Shown::kStack; };
  if (std::ranges::any_of(aggregate.keys, is_stack)) return;
  for (const probe::ResultRow& row : result.rows) {
    if (!row.has_value) continue;
    std::string key;
    for (size_t i = 0; i < row.key.size(); ++i)
      key += (i == 0 ? "" : ", ") + probe::ValueText(aggregate.keys[i].shown, row.key[i], namer);
    trace::NamedCounter* counter = CounterFor(aggregate, key);
    if (counter == nullptr || counter->values.size() >= kMostEvents / kMostCounters * 100)
      ++left_out_;
    else
      counter->values.emplace_back(mono_ns, probe::RowNumber(aggregate, row));
  }
}

std::string PerfettoRecording::Text(std::vector<trace::Loss> losses) const {
  trace::Trace header = header_;
  header.end_ns = base::SystemClock().MonoNs();
  if (left_out_ != 0)
    losses.push_back({.what = "records and values beyond the file's room", .count = left_out_, .remedy = {}});
  header.losses = std::move(losses);
  return trace::PerfettoEvents(std::move(header), events_, counters_);
}

}  // namespace lagwatch::tools
