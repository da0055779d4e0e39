// SPDX-License-Identifier: Apache-2.0
#include "policies/hang_account.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace lagwatch::policies {
namespace {

std::optional<int64_t> Longest(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::max(*a, *b) : a ? a : b;
}

// The rate that stands for fewer users.
int64_t LesserWeight(int64_t a, int64_t b) {
  constexpr int64_t kAllPpm = 1'000'000;
  const auto is_of_some = [](int64_t rate_ppm) { return rate_ppm > 0 && rate_ppm < kAllPpm; };
  return is_of_some(a) && is_of_some(b) ? std::max(a, b) : 0;
}

std::vector<size_t> InOrderOfTime(std::span<const HangReport> reports) {
  std::vector<size_t> order(reports.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::tuple(reports[i].elapsed_ns, reports[i].ordinal, i); });
  return order;
}

}  // namespace

HangAccount AccountHang(std::span<const HangReport> reports) {
  HangAccount account;
  account.shares.resize(reports.size());
  if (reports.empty()) return account;
  std::optional<int64_t> killed_ns;
  account.sample_rate_ppm = reports.front().sample_rate_ppm;
  int64_t last_ns = 0;
  for (const HangReport& report : reports) {
    account.duration_ns = Longest(account.duration_ns, report.end_ns);
    killed_ns = Longest(killed_ns, report.killed_ns);
    last_ns = std::max(last_ns, report.elapsed_ns);
    account.sample_rate_ppm = LesserWeight(account.sample_rate_ppm, report.sample_rate_ppm);
  }
  if (!account.duration_ns && killed_ns) {
    account.duration_ns = std::max(*killed_ns, last_ns);
    account.was_killed = true;
  }
  const int64_t end_ns = account.duration_ns.value_or(last_ns);
  const std::vector<size_t> order = InOrderOfTime(reports);
  size_t lead = order.front();
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t from_ns = i == 0 ? 0 : std::min(reports[order[i]].elapsed_ns, end_ns);
    const int64_t to_ns = i + 1 == order.size() ? end_ns : std::min(reports[order[i + 1]].elapsed_ns, end_ns);
    HangShare& share = account.shares[order[i]];
    share.hang_ns = to_ns - from_ns;
    if (share.hang_ns > account.shares[lead].hang_ns) lead = order[i];
  }
  const auto blamed = std::ranges::find_if(order, [&](size_t i) { return reports[i].is_blamed; });
  account.shares[blamed == order.end() ? lead : *blamed].is_lead = true;
  return account;
}

}  // namespace lagwatch::policies
