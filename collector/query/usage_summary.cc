// SPDX-License-Identifier: Apache-2.0
#include "collector/query/usage_summary.h"

#include <algorithm>
#include <limits>

namespace lagwatch::collector {
namespace {

constexpr size_t kShownTags = 20;
constexpr size_t kShownUsers = 20;

template <typename Number>
void AddTo(Number* sum, Number added) {
  constexpr Number kMost = std::numeric_limits<Number>::max();
  *sum = added > kMost - *sum ? kMost : *sum + added;
}

void AddTo(policies::DurationHistogram* sum, const policies::DurationHistogram& added) {
  for (size_t i = 0; i < sum->counts.size(); ++i) AddTo(&sum->counts[i], added.counts[i]);
}

void AddTo(policies::LoopUsage* sum, const policies::LoopUsage& added) {
  AddTo(&sum->watched_ns, added.watched_ns);
  AddTo(&sum->dispatches, added.dispatches);
  AddTo(&sum->untimed_dispatches, added.untimed_dispatches);
  AddTo(&sum->hangs, added.hangs);
  AddTo(&sum->hang_ns, added.hang_ns);
  AddTo(&sum->durations, added.durations);
  AddTo(&sum->background.watched_ns, added.background.watched_ns);
  AddTo(&sum->background.hangs, added.background.hangs);
  AddTo(&sum->background.hang_ns, added.background.hang_ns);
}

void AddTo(policies::SlowDispatches* sum, const policies::SlowDispatches& added) {
  AddTo(&sum->count, added.count);
  AddTo(&sum->total_ns, added.total_ns);
  sum->longest_ns = std::max(sum->longest_ns, added.longest_ns);
  AddTo(&sum->durations, added.durations);
}

double Rounded(double ms) {
  constexpr double kNsOfOneMs = 1'000'000;
  return ToMs(ms * kNsOfOneMs);
}

double RateOf(const policies::LoopUsage& usage) {
  return HangMsPerHour(static_cast<double>(usage.hang_ns), static_cast<double>(usage.watched_ns));
}

// Null where the application never was in the background.
Json BackgroundRate(const policies::UsagePart& usage) {
  if (usage.watched_ns <= 0) return {};
  return Rounded(HangMsPerHour(static_cast<double>(usage.hang_ns), static_cast<double>(usage.watched_ns)));
}

Json HistogramJson(const policies::DurationHistogram& histogram) {
  Json buckets = Json::array();
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] != 0)
      buckets.push_back(
          {{"from_ms", policies::DurationHistogram::FirstMsOf(i)}, {"count", histogram.counts[i]}});
  }
  return buckets;
}

constexpr std::initializer_list<std::pair<const char*, const char*>> kOldRateNames = {
    {"hangs", "lags"}, {"hang_ms", "lagged_ms"}, {"hang_ms_per_hour", "lagged_ms_per_hour"}};

Json LoopUsageJson(const policies::LoopUsage& usage) {
  const Json background = {{"watched_ms", ToMs(static_cast<double>(usage.background.watched_ns))},
                           {"hangs", usage.background.hangs},
                           {"hang_ms", ToMs(static_cast<double>(usage.background.hang_ns))},
                           {"hang_ms_per_hour", BackgroundRate(usage.background)}};
  return WithOldNames({{"watched_ms", ToMs(static_cast<double>(usage.watched_ns))},
                       {"dispatches", usage.dispatches},
                       {"untimed_dispatches", usage.untimed_dispatches},
                       {"hangs", usage.hangs},
                       {"hang_ms", ToMs(static_cast<double>(usage.hang_ns))},
                       {"durations", HistogramJson(usage.durations)},
                       {"background", WithOldNames(background, kOldRateNames)}},
                      {{"hangs", "lags"}, {"hang_ms", "lagged_ms"}});
}

// Those that took the most time.
Json SlowJson(const UsageSummary& summary) {
  std::vector<const decltype(summary.slow)::value_type*> worst;
  for (const auto& entry : summary.slow) worst.push_back(&entry);
  std::stable_sort(worst.begin(), worst.end(), [](const auto* one, const auto* other) {
    return one->second.total_ns > other->second.total_ns;
  });
  worst.resize(std::min(worst.size(), kShownTags));
  Json slow = Json::array();
  for (const auto* entry : worst) {
    const policies::SlowDispatches& dispatches = entry->second;
    slow.push_back({{"loop", entry->first.first},
                    {"tag", entry->first.second},
                    {"count", dispatches.count},
                    {"total_ms", ToMs(static_cast<double>(dispatches.total_ns))},
                    {"longest_ms", ToMs(static_cast<double>(dispatches.longest_ns))},
                    {"durations", HistogramJson(dispatches.durations)}});
  }
  return slow;
}

}  // namespace

void UsageSummaries::Add(const report::Usage& usage) {
  VersionUse& sum = sums_[{usage.app, usage.app_version}];
  UsageSummary& summary = sum.summary;
  const auto begin_ms = static_cast<int64_t>(std::min<uint64_t>(usage.begin_wall_ms, INT64_MAX));
  const auto end_ms = static_cast<int64_t>(std::min<uint64_t>(usage.end_wall_ms, INT64_MAX));
  const bool is_first = sum.sessions.empty();
  summary.first_seen_ms = is_first ? begin_ms : std::min(summary.first_seen_ms, begin_ms);
  summary.last_seen_ms = std::max(summary.last_seen_ms, end_ms);
  sum.sessions.insert(std::string(usage.session_id.as_bytes()));
  summary.rates.Add(usage);
  policies::LoopUsage& user = sum.users[CountedUser(usage.user, usage.session_id)];
  for (const report::LoopUsage& loop : usage.loops) {
    AddTo(&summary.total, loop.usage);
    AddTo(&summary.loops[loop.loop], loop.usage);
    AddTo(&user, loop.usage);
  }
  for (const report::SlowTag& slow : usage.slow) AddTo(&summary.slow[{slow.loop, slow.tag}], slow.dispatches);
  for (const report::Suppressed& suppressed : usage.suppressed)
    AddTo(&summary.suppressed[static_cast<size_t>(suppressed.reason)], suppressed.count);
}

void UsageSummaries::Add(const ExitCount& exit) {
  const auto sum = sums_.find({exit.app, exit.version});
  if (sum != sums_.end())
    sum->second.summary.exits[std::string(policies::CurrentExitReason(exit.reason))] += exit.runs;
}

std::vector<UsageSummary> UsageSummaries::Take() && {
  std::vector<UsageSummary> taken;
  for (auto& [key, sum] : sums_) {
    UsageSummary& summary = sum.summary;
    summary.app = key.first;
    summary.version = key.second;
    summary.runs = static_cast<int64_t>(sum.sessions.size());
    for (const auto& [user, usage] : sum.users) {
      if (!user.starts_with('\0')) summary.users.emplace_back(user, usage);
    }
    std::stable_sort(summary.users.begin(), summary.users.end(), [](const auto& one, const auto& other) {
      return one.second.hang_ns > other.second.hang_ns;
    });
    taken.push_back(std::move(summary));
  }
  std::stable_sort(taken.begin(), taken.end(), [](const UsageSummary& one, const UsageSummary& other) {
    return one.total.watched_ns > other.total.watched_ns;
  });
  return taken;
}

Json UsageJson(const UsageSummary& summary) {
  Json json = {{"app", summary.app},
               {"version", summary.version},
               {"users", summary.rates.users()},
               {"runs", summary.runs}};
  json.update(LoopUsageJson(summary.total));
  json["hang_ms_per_hour"] = json["lagged_ms_per_hour"] = summary.rates.ToJson();
  json["loops"] = Json::array();
  for (const auto& [name, usage] : summary.loops) {
    Json loop = {{"loop", name}};
    loop.update(LoopUsageJson(usage));
    json["loops"].push_back(std::move(loop));
  }
  json["worst_users"] = Json::array();
  for (const auto& [user, usage] : summary.users) {
    if (json["worst_users"].size() == kShownUsers) break;
    json["worst_users"].push_back(WithOldNames({{"user", user},
                                                {"watched_ms", ToMs(static_cast<double>(usage.watched_ns))},
                                                {"dispatches", usage.dispatches},
                                                {"hangs", usage.hangs},
                                                {"hang_ms", ToMs(static_cast<double>(usage.hang_ns))},
                                                {"hang_ms_per_hour", Rounded(RateOf(usage))}},
                                               kOldRateNames));
  }
  json["slow"] = SlowJson(summary);
  json["suppressed"] = Json::object();
  for (size_t i = 0; i < summary.suppressed.size(); ++i) {
    std::string name(policies::SuppressedReasonName(static_cast<policies::SuppressedReason>(i)));
    if (summary.suppressed[i] != 0) json["suppressed"][name] = summary.suppressed[i];
  }
  json["exits"] = summary.exits;
  json["first_seen_ms"] = summary.first_seen_ms;
  json["last_seen_ms"] = summary.last_seen_ms;
  return json;
}

}  // namespace lagwatch::collector
