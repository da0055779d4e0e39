// SPDX-License-Identifier: Apache-2.0
// HangReporter's correction of a hang's blame, when it is over.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/process/own_memory.h"
#include "watchdog/hang_reporter.h"

namespace lagwatch::watchdog {
namespace {

// Those of `samples` that are right; without any, the witness alone.
SampleList RightOf(const SampleList& samples, const HangBlame& blame, uint32_t heaviest) {
  SampleList right;
  for (const LoopSample* sample : samples.all())
    if (blame.Agree(blame.Find(sample->stack), heaviest)) right.Add(sample);
  const LoopSample* witness = blame.witness();
  if (right.empty() && witness != nullptr && blame.Agree(blame.Find(witness->stack), heaviest))
    right.Add(witness);
  return right;
}

// The witness, which is older, and as many of `samples` as there is room for.
SampleList WithWitness(const LoopSample* witness, const SampleList& samples) {
  SampleList all;
  all.Add(witness);
  const bool is_full = samples.all().size() == WatchOptions::kMaxRingSize;
  for (const LoopSample* sample : samples.all().subspan(is_full ? 1 : 0)) all.Add(sample);
  return all;
}

}  // namespace

void HangReporter::WeighSamples(const SpanWatch& watch, const SampleRing& ring, const WatchTools& tools) {
  if (blame_ == nullptr) blame_ = base::MapOwnBlock<HangBlame>(1);
  if (blame_ == nullptr) return;
  HangBlame& blame = blame_[0];
  if (std::exchange(weighed_, watch.number()) != watch.number()) {
    blame.Begin(watch.begin_ns());
    next_sample_ = watch.first_sample();
  }
  const SampleList samples = ring.From(std::exchange(next_sample_, ring.count()), tools);
  for (const LoopSample* sample : samples.all()) blame.Add(*sample);
}

void HangReporter::NoteBlame(const SpanWatch& watch, const stack::Stack& expensive) {
  const bool is_weighed = blame_ != nullptr && weighed_ == watch.number();
  blamed_calls_[watch.report_ids().size()] = is_weighed ? blame_[0].Find(expensive) : HangBlame::kNone;
}

std::optional<size_t> HangReporter::FindRightReport(const SpanWatch& watch, uint32_t heaviest) const {
  for (size_t i = watch.report_ids().size(); i-- > 0;)
    if (blame_[0].Agree(blamed_calls_[i], heaviest)) return i;
  return std::nullopt;
}

void HangReporter::CorrectBlame(WatchedSpan* span, const WatchedLoop& loop, const SampleRing& ring,
                                int64_t duration_ns, const WatchTools& tools) {
  SpanWatch& watch = span->watch;
  const size_t reports = watch.report_ids().size();
  const policies::ExpensiveStackRule rule = tools.options->expensive_stack_rule;
  const bool is_by_path = rule == policies::ExpensiveStackRule::kPath;
  if (blame_ == nullptr || weighed_ != watch.number() || reports == 0 || !is_by_path) return;
  const HangBlame& blame = blame_[0];
  const uint32_t heaviest = blame.Heaviest();
  if (heaviest == HangBlame::kNone) return;
  std::optional<size_t> right = FindRightReport(watch, heaviest);
  if (!right && reports < SpanWatch::kMaxReportsPerHang && !tools.has_ended()) {
    SampleList samples = ring.From(watch.first_sample(), tools);
    const SampleList right_samples = RightOf(samples, blame, heaviest);
    if (right_samples.empty()) return;
    const LoopSample& expensive = PickExpensiveSample(right_samples.all(), rule);
    if (&expensive == blame.witness()) samples = WithWitness(&expensive, samples);
    if (!Report(span, loop, samples.all(), expensive.stack, watch.begin_ns() + duration_ns, nullptr, tools,
                Moment::kCorrection))
      return;
    right = reports;
  }
  if (right && watch.report_ids().size() > 1) tools.sink->OnBlame(watch.report_ids()[*right]);
}

}  // namespace lagwatch::watchdog
