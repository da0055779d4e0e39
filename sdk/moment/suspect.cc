// SPDX-License-Identifier: Apache-2.0
#include "sdk/moment/suspect.h"

#include <algorithm>
#include <tuple>

namespace lagwatch::sdk {
namespace {

// The less, the more it matters.
int ClassOf(const SurveyedThread& thread, bool is_main) {
  const bool is_starved = thread.verdict.word == policies::VerdictWord::kStarved ||
                          thread.verdict.word == policies::VerdictWord::kThrottled;
  switch (thread.pastime) {
    case Pastime::kBlocked:
      return is_main ? 0 : 2;
    case Pastime::kStopped:
      return is_main ? 0 : 3;
    case Pastime::kComputing:
      return is_main ? 1 : 6;
    case Pastime::kParked:
      if (!is_main) return 8;
      return thread.is_parked_since_start ? 5 : 1;
    case Pastime::kBusy:
      return is_main && is_starved ? 1 : is_main ? 4 : 7;
    case Pastime::kIdle:
      break;
  }
  return is_main ? 5 : 9;
}

}  // namespace

Standing StandingOf(const SurveyedThread& thread, bool is_beside_idle_main) {
  switch (thread.pastime) {
    case Pastime::kBlocked:
    case Pastime::kComputing:
    case Pastime::kStopped:
      return is_beside_idle_main ? Standing::kMayBeFrozen : Standing::kFrozen;
    case Pastime::kParked:
      return thread.is_parked_since_start ? Standing::kResponds : Standing::kMayBeFrozen;
    case Pastime::kBusy:
    case Pastime::kIdle:
      break;
  }
  return Standing::kResponds;
}

std::vector<const SurveyedThread*> RankSuspects(std::span<const SurveyedThread> threads, int32_t main_tid) {
  std::vector<const SurveyedThread*> ranked;
  for (const SurveyedThread& thread : threads) ranked.push_back(&thread);
  std::ranges::stable_sort(ranked, {}, [&](const SurveyedThread* thread) {
    return std::tuple(ClassOf(*thread, thread->tid == main_tid), thread->since_ns);
  });
  return ranked;
}

}  // namespace lagwatch::sdk
