// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/cause_samples.h"

#include <algorithm>
#include <functional>

#include "collector/cluster/named_stacks.h"
#include "collector/symbols/names/symbol_namer.h"

namespace lagwatch::collector {
namespace {

// Of a deadlock the first, as its cause is named by; else the last that is known.
const report::Wait* LastOwnedWait(const report::Report& report) {
  const auto is_owned = [](const report::Wait& wait) {
    return wait.lock.waits_for == report::WaitsFor::kOwner;
  };
  if (report.wait_outcome == report::WaitOutcome::kDeadlock) {
    const auto first = std::ranges::find_if(report.waits, is_owned);
    return first == report.waits.end() ? nullptr : &*first;
  }
  const auto last = std::find_if(report.waits.rbegin(), report.waits.rend(), is_owned);
  return last == report.waits.rend() ? nullptr : &*last;
}

// Those of the most hang time, as pointers to the map's entries.
template <typename Map, typename Hang>
auto Heaviest(const Map& tallies, size_t count, Hang hang_ns) {
  std::vector<const typename Map::value_type*> entries;
  for (const auto& entry : tallies) entries.push_back(&entry);
  std::ranges::stable_sort(entries, std::greater(),
                           [&](const auto* entry) { return hang_ns(entry->second); });
  if (entries.size() > count) entries.resize(count);
  return entries;
}

}  // namespace

std::vector<StackTime> StackTimesOf(const ReportRow& row, const report::Report& report, int64_t begin_ns) {
  std::vector<StackTime> samples;
  double total_ns = 0;
  if (report.kind == report::HangKind::kSlow) {
    for (const report::Sample& sample : report.samples)
      samples.push_back({sample.stack, static_cast<double>(sample.wall_ns)});
  } else if (!IsHang(policies::HangKindName(report.kind))) {
    for (const report::Sample& sample : report.samples)
      samples.push_back({sample.stack, static_cast<double>(std::max<int64_t>(sample.use.cpu_ns, 0))});
  } else {
    std::vector<report::Sample> in_time = report.samples;
    std::ranges::stable_sort(in_time, std::greater(), &report::Sample::age_ns);
    for (size_t i = 0; i < in_time.size(); ++i) {
      const int64_t age_ns = in_time[i].age_ns;
      if (row.elapsed_ns - age_ns <= begin_ns) continue;
      const int64_t next_age_ns = i + 1 < in_time.size() ? in_time[i + 1].age_ns : 0;
      samples.push_back({in_time[i].stack, static_cast<double>(age_ns - next_age_ns)});
    }
  }
  for (const StackTime& sample : samples) total_ns += sample.ns;
  if (total_ns > 0) return samples;
  const int64_t own_ns = IsHang(policies::HangKindName(report.kind)) ? row.hang_ns : row.cpu_process_ns;
  return {{report.expensive_stack, static_cast<double>(own_ns)}};
}

CauseSamples::CauseSamples(std::span<const ReportRow> rows, const policies::ClusterRules& rules,
                           Symbolizer* symbolizer)
    : rules_(rules), symbolizer_(symbolizer) {
  for (const ReportRow& row : rows)
    reports_of_hangs_[std::string(row.hang_id.as_bytes())].push_back(row.elapsed_ns);
}

bool CauseSamples::TryAdd(const ReportRow& row, const report::Report& report) {
  std::vector<Sample> samples = StackTimesOf(row, report, EarlierReportOf(row));
  if (samples.size() > kMaxSamples) samples.erase(samples.begin(), samples.end() - kMaxSamples);
  if (sample_count_ + samples.size() > kMaxSamples || table_.size_bytes() > kMaxTableBytes) return false;
  const SymbolNamer namer(report, symbolizer_);
  const NamedStacks names(report, namer, rules_);
  has_pending_names_ |= namer.is_unavailable();
  std::map<uint32_t, uint32_t> numbers;  // of the report's stacks in the table
  for (Sample& sample : samples) {
    packages_.Add(report.stacks[sample.stack], names, sample.ns);
    const auto [number, is_new] = numbers.try_emplace(sample.stack);
    if (is_new)
      number->second = table_.NumberOf(table_.Add(report, namer, names, report.stacks[sample.stack]));
    sample.stack = number->second;
  }
  sample_count_ += samples.size();
  samples_.push_back(std::move(samples));
  tags_[{row.loop, row.tag}].Add(row);
  AddOwner(row, report, namer, names);
  return true;
}

// The hang's age when the report before this one was made, which has the samples until then; without one,
// less than any sample's.
int64_t CauseSamples::EarlierReportOf(const ReportRow& row) const {
  int64_t earlier_ns = INT64_MIN;
  const auto known = reports_of_hangs_.find(std::string(row.hang_id.as_bytes()));
  if (known == reports_of_hangs_.end()) return earlier_ns;
  for (int64_t elapsed_ns : known->second) {
    if (elapsed_ns < row.elapsed_ns) earlier_ns = std::max(earlier_ns, elapsed_ns);
  }
  return earlier_ns;
}

void CauseSamples::AddOwner(const ReportRow& row, const report::Report& report, const SymbolNamer& namer,
                            const NamedStacks& names) {
  const report::Wait* wait = LastOwnedWait(report);
  if (wait == nullptr) return;
  static const report::Stack kUnknown;
  const report::Stack& stack =
      wait->owner_stack == report::kNoStack ? kUnknown : report.stacks[wait->owner_stack];
  const auto [known, is_new] = owners_.try_emplace(names.PlaceOf(stack));
  Owner& owner = known->second;
  owner.tally.Add(row);
  if (!is_new) return;
  owner.name = wait->owner_name;
  owner.kind = policies::LockKindName(wait->lock.kind);
  owner.stack = table_.Add(report, namer, names, stack);
}

Json CauseSamples::ToJson() const {
  return {{"reports", samples_.size()},
          {"frames", table_.frames()},
          {"stacks", table_.StacksJson()},
          {"samples", SamplesJson()},
          {"tags", TagsJson()},
          {"owners", OwnersJson()},
          {"packages", packages_.ToJson()},
          {"names_pending", has_pending_names_}};
}

Json CauseSamples::SamplesJson() const {
  Json json = Json::array();
  for (auto samples = samples_.rbegin(); samples != samples_.rend(); ++samples) {
    for (const Sample& sample : *samples) json.push_back({{"stack", sample.stack}, {"ms", ToMs(sample.ns)}});
  }
  return json;
}

Json CauseSamples::TagsJson() const {
  Json json = Json::array();
  for (const auto* entry : Heaviest(tags_, kMaxListed, [](const Tally& tally) { return tally.hang_ns; })) {
    json.push_back({{"loop", entry->first.first},
                    {"tag", entry->first.second},
                    {"reports", entry->second.reports},
                    {"hang_ms", ToMs(entry->second.hang_ns)}});
  }
  return json;
}

Json CauseSamples::OwnersJson() const {
  Json json = Json::array();
  for (const auto* entry :
       Heaviest(owners_, kMaxListed, [](const Owner& owner) { return owner.tally.hang_ns; })) {
    const auto& [at, owner] = *entry;
    json.push_back({{"at", at.empty() ? Json() : Json(at)},
                    {"name", owner.name},
                    {"kind", owner.kind},
                    {"reports", owner.tally.reports},
                    {"hang_ms", ToMs(owner.tally.hang_ns)},
                    {"stack", owner.stack}});
  }
  return json;
}

}  // namespace lagwatch::collector
