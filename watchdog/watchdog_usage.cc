// SPDX-License-Identifier: Apache-2.0
// The part of Watchdog that says what loops are used for, period by period.
#include <algorithm>

#include "trace/io/thread_io.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

// Usage is sent along with a report, because that is sent anyway; but not more often than this.
constexpr int64_t kUsageWithReportNs = 60 * base::kNsPerSecond;

}  // namespace

void Watchdog::ReportUsage(uint64_t reports_before) {
  if (options_.usage_period_ns == 0) return;
  const int64_t now_ns = base::SystemClock().MonoNs();
  const bool is_alone = counters_.reports.value() == reports_before;
  const int64_t period_ns =
      is_alone ? options_.usage_period_ns : std::min(options_.usage_period_ns, kUsageWithReportNs);
  const bool is_due = now_ns - usage_tried_ns_ >= period_ns;
  if (!is_due && now_ns - usage_so_far_ns_ < options_.check_period_ns) return;  // samples come more often
  if (usage_.is_empty()) return;
  usage_so_far_ns_ = now_ns;
  if (is_due) CollectParkedUsage();
  policies::SuppressedCounts suppressed;
  const UsageEvent event = DescribeUsage(&suppressed, is_alone);
  if (!is_due) return sink_->OnUsageSoFar(event);
  usage_tried_ns_ = now_ns;
  if (!sink_->OnUsage(event)) return sink_->OnUsageSoFar(event);
  counters_.usage_records.Add();
  suppressed_reported_ = CountSuppressed();
  BeginUsagePeriod();
}

void Watchdog::ReportLastUsage() {
  CollectParkedUsage();
  for (uint32_t place : watches_.active())
    watches_.Of(place).CollectUsage(registry_->places()[place], tools_);
  if (options_.usage_period_ns == 0 || usage_.is_empty()) return;
  policies::SuppressedCounts suppressed;
  const bool is_alone = true;
  const UsageEvent event = DescribeUsage(&suppressed, is_alone);
  if (!sink_->OnUsage(event)) return sink_->OnUsageSoFar(event);
  counters_.usage_records.Add();
}

void Watchdog::BeginUsagePeriod() {
  usage_.Clear();
  usage_begin_wall_ms_ = base::SystemClock().WallMs();
  usage_id_ = base::CreateUuidV7(usage_begin_wall_ms_);
  usage_tried_ns_ = base::SystemClock().MonoNs();
}

UsageEvent Watchdog::DescribeUsage(policies::SuppressedCounts* suppressed, bool is_alone) const {
  *suppressed = CountSuppressed();
  for (size_t i = 0; i < suppressed->size(); ++i)
    (*suppressed)[i] -= std::min((*suppressed)[i], suppressed_reported_[i]);  // some count less later
  return {.id = usage_id_,
          .begin_wall_ms = usage_begin_wall_ms_,
          .end_wall_ms = base::SystemClock().WallMs(),
          .loops = usage_.loops(),
          .slow = usage_.slow(),
          .suppressed = *suppressed,
          .values = &usage_.values(),
          .is_alone = is_alone};
}

policies::SuppressedCounts Watchdog::CountSuppressed() const {
  policies::SuppressedCounts counts{};
  auto set = [&](policies::SuppressedReason reason, uint64_t count) {
    counts[static_cast<size_t>(reason)] = count;
  };
  using Reason = policies::SuppressedReason;
  set(Reason::kUnchangedStack, counters_.unchanged_checks.value());
  set(Reason::kReportLimit, counters_.reports_over_hang_limit.value());
  set(Reason::kDebugger, counters_.checks_under_debugger.value());
  set(Reason::kStopped, counters_.hangs_stopped.value());
  set(Reason::kSuspended, counters_.hangs_suspended.value());
  set(Reason::kEndedFirst, counters_.hangs_ended_first.value());
  set(Reason::kLoopRefused, registry_->refused_count() + trace::g_thread_io.refused_count());
  set(Reason::kNoteLost, counters_.notes_lost.value() + trace::g_thread_io.lost_count());
  set(Reason::kUnproven, counters_.unproven_waits.value() - counters_.unproven_waits_settled.value());
  return counts;
}

}  // namespace lagwatch::watchdog
