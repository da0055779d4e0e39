// SPDX-License-Identifier: Apache-2.0
#include "policies/verdict.h"

#include <algorithm>
#include <utility>

namespace lagwatch::policies {
namespace {

struct WaitShare {
  Doing doing;
  VerdictWord word;
  int64_t TimeShares::*ns;
};
constexpr WaitShare kWaitShares[] = {
#define WAIT_SHARE(field, member, enumerator, ...) \
  {Doing::enumerator, VerdictWord::enumerator, &TimeShares::member##_ns},
#include "policies/verdict.def"
};

ThreadUse Difference(const ThreadUse& later, const ThreadUse& earlier) {
  auto grown = [](int64_t now, int64_t before) { return std::max<int64_t>(now - before, 0); };
  return {grown(later.cpu_ns, earlier.cpu_ns), grown(later.minor_faults, earlier.minor_faults),
          grown(later.major_faults, earlier.major_faults),
          grown(later.voluntary_switches, earlier.voluntary_switches),
          grown(later.involuntary_switches, earlier.involuntary_switches)};
}

// `whole` times part / of, for parts of nanoseconds whose product may not fit.
int64_t Portion(int64_t whole, int64_t part, int64_t of) {
  return std::min(whole, static_cast<int64_t>(static_cast<double>(whole) * static_cast<double>(part) /
                                              static_cast<double>(of)));
}

}  // namespace

void TimeAccount::Open(const ThreadLook& look) {
  *this = {};
  look_count_ = 1;
  first_ = last_ = look;
}

ThreadUse TimeAccount::Add(const ThreadLook& look) {
  const int64_t wall_ns = look.mono_ns - last_.mono_ns;
  if (wall_ns <= 0) return {};
  ++look_count_;
  const ThreadUse use = Difference(look.use, last_.use);
  const int64_t cpu_ns = std::min(use.cpu_ns, wall_ns);

  int64_t queue_ns = std::max<int64_t>(look.run_queue_ns - last_.run_queue_ns, 0);
  const int64_t counted_before_ns = std::min(queue_ns, early_queue_ns_);
  early_queue_ns_ -= counted_before_ns;
  queue_ns -= counted_before_ns;
  // More than this interval has room for: the sum was read just before an earlier wait was over.
  const int64_t proven_late_ns = std::clamp<int64_t>(queue_ns - (wall_ns - cpu_ns), 0, unproven_queue_ns_);
  unproven_queue_ns_ -= proven_late_ns;
  queue_ns = std::min(queue_ns, wall_ns - cpu_ns);

  const int64_t rest_ns = wall_ns - cpu_ns - queue_ns;
  TimeOf(Doing::kRunning) += cpu_ns;
  TimeOf(Doing::kQueued) += queue_ns + proven_late_ns;
  auto attribute = [&](Doing doing, int64_t ns) {
    TimeOf(doing) += ns;
    if (doing == Doing::kQueued) early_queue_ns_ += ns;
  };
  const bool was_running = last_.doing == Doing::kRunning;
  const bool is_running = look.doing == Doing::kRunning;
  if (was_running && is_running) {
    unseen_ns_ += rest_ns;
  } else {
    int64_t first_half_ns = is_running ? rest_ns : was_running ? 0 : rest_ns / 2;
    attribute(last_.doing, first_half_ns);
    attribute(look.doing, rest_ns - first_half_ns);
  }
  // A thread that runs or sleeps is in no queue: the kernel's sum is complete.
  if (look.doing != Doing::kQueued) {
    TimeOf(Doing::kQueued) -= early_queue_ns_;
    unproven_queue_ns_ += std::exchange(early_queue_ns_, 0);
  }
  last_ = look;
  return use;
}

void TimeAccount::Discount(int64_t stopped_ns, int64_t now_ns) {
  first_.mono_ns += stopped_ns;
  last_.mono_ns += stopped_ns;
  // The last look may have been made after the stop: then it has taken it for a wait.
  int64_t counted_ns = std::max<int64_t>(last_.mono_ns - now_ns, 0);
  last_.mono_ns -= counted_ns;
  auto take_off = [&](int64_t* ns) {
    const int64_t taken_ns = std::min(counted_ns, *ns);
    *ns -= taken_ns;
    counted_ns -= taken_ns;
    return taken_ns;
  };
  take_off(&unseen_ns_);
  early_queue_ns_ = std::max<int64_t>(early_queue_ns_ - take_off(&TimeOf(Doing::kQueued)), 0);
  for (size_t doing = 0; doing < kDoingCount; ++doing) {
    if (doing != static_cast<size_t>(Doing::kRunning)) take_off(&time_ns_[doing]);
  }
  first_.mono_ns -= counted_ns;  // the account does not have it
}

ThreadUse TimeAccount::use() const { return Difference(last_.use, first_.use); }

TimeShares TimeAccount::Shares(int64_t throttled_ns) const {
  auto time_ns = [&](Doing doing) { return time_ns_[static_cast<size_t>(doing)]; };
  TimeShares shares;
  shares.wall_ns = last_.mono_ns - first_.mono_ns;

  const int64_t user_ns = std::max<int64_t>(last_.user_ns - first_.user_ns, 0);
  const int64_t kernel_ns = std::max<int64_t>(last_.kernel_ns - first_.kernel_ns, 0);
  const int64_t cpu_ns = time_ns(Doing::kRunning);
  if (kernel_ns > 0) shares.kernel_ns = Portion(cpu_ns, kernel_ns, user_ns + kernel_ns);
  shares.user_ns = cpu_ns - shares.kernel_ns;

  shares.throttled_ns = std::clamp<int64_t>(throttled_ns, 0, time_ns(Doing::kQueued) + unproven_queue_ns_);
  shares.run_queue_ns = std::max<int64_t>(time_ns(Doing::kQueued) - shares.throttled_ns, 0);

  int64_t seen_ns = 0;
  for (const WaitShare& wait : kWaitShares) seen_ns += time_ns(wait.doing);
  for (const WaitShare& wait : kWaitShares) {
    const int64_t unseen_ns = seen_ns == 0 ? 0 : Portion(unseen_ns_, time_ns(wait.doing), seen_ns);
    shares.*wait.ns = time_ns(wait.doing) + unseen_ns;
  }
  shares.stopped_ns = time_ns(Doing::kStopped);
  if (seen_ns == 0) {
    shares.disk_ns = std::clamp<int64_t>(last_.block_io_ns - first_.block_io_ns, 0, unseen_ns_);
  }
  return shares;
}

VerdictWord Judge(const TimeShares& shares, bool is_deadlock) {
  constexpr int64_t kThrottledPart = 4;
  if (is_deadlock) return VerdictWord::kDeadlock;
  const int64_t queue_ns = shares.run_queue_ns + shares.throttled_ns;
  if (queue_ns > shares.wall_ns / 2) {
    bool is_throttled = shares.throttled_ns >= queue_ns / kThrottledPart;
    return is_throttled ? VerdictWord::kThrottled : VerdictWord::kStarved;
  }
  VerdictWord word = VerdictWord::kUnknown;
  int64_t largest_ns = 0;
  int64_t unknown_ns = shares.wall_ns - queue_ns;
  auto compare = [&](VerdictWord candidate, int64_t ns) {
    unknown_ns -= ns;
    if (ns <= largest_ns) return;
    word = candidate;
    largest_ns = ns;
  };
  for (const WaitShare& wait : kWaitShares) compare(wait.word, shares.*wait.ns);
  compare(VerdictWord::kStopped, shares.stopped_ns);
  compare(VerdictWord::kCpu, shares.user_ns + shares.kernel_ns);
  return largest_ns < unknown_ns ? VerdictWord::kUnknown : word;
}

VerdictWord JudgeWithProcessor(const TimeShares& shares) {
  TimeShares rest = shares;
  rest.run_queue_ns = rest.throttled_ns = 0;
  rest.wall_ns = std::max<int64_t>(shares.wall_ns - shares.run_queue_ns - shares.throttled_ns, 0);
  return rest.wall_ns == 0 ? VerdictWord::kCpu : Judge(rest, /*is_deadlock=*/false);
}

}  // namespace lagwatch::policies
