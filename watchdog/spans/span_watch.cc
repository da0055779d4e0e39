// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/span_watch.h"

#include <algorithm>

namespace lagwatch::watchdog {

void SpanWatch::Follow(const Span& span, const WatchOptions& options) {
  if (number_ != span.number) Start(span, options);
  if (thresholds_ != span.thresholds) is_window_open_ = false;  // its time is another now
  thresholds_ = span.thresholds;
  schedule_ = {thresholds_.threshold_ns, options.sample_interval_ns, options.ring_size};
  int64_t first_check_ns = std::max(begin_ns_ + thresholds_.threshold_ns, put_off_to_ns_);
  next_check_ns_ = NoLaterThanAnr(is_hanging_ ? next_check_ns_ : first_check_ns);
}

void SpanWatch::Start(const Span& span, const WatchOptions& options) {
  End();
  number_ = span.number;
  begin_ns_ = span.begin_ns;
  discounted_ = {};
  put_off_to_ns_ = 0;
  level_ = HangLevel::kHang;
  report_count_ = 0;
  known_count_ = 0;
  cpu_baseline_ = {};
  recheck_interval_ = policies::RecheckInterval(options.check_period_ns, options.recheck_cap_ns);
}

void SpanWatch::End() {
  number_ = 0;
  is_hanging_ = false;
  is_window_open_ = false;
}

void SpanWatch::Discount(const policies::DiscountedTime& findings) {
  if (number_ == 0) return;
  discounted_ += findings;
  begin_ns_ += findings.stopped_ns;
  next_check_ns_ += findings.stopped_ns;
  if (cpu_baseline_.mono_ns != 0) cpu_baseline_.mono_ns += findings.stopped_ns;
}

void SpanWatch::BeginAgain(int64_t now_ns) {
  begin_ns_ = now_ns;
  next_check_ns_ = NoLaterThanAnr(now_ns + thresholds_.threshold_ns);
  is_window_open_ = false;
}

bool SpanWatch::OpenWindow(uint64_t first_sample) {
  is_window_open_ = true;
  // A hang's later checks look at all samples of it that the ring still has: the few since the last check
  // would often blame the smaller of two shares.
  if (!is_hanging_) first_sample_ = first_sample;
  return !is_hanging_;
}

SpanWatch::Outcome SpanWatch::Check(uint64_t stack_hash, int64_t now_ns, const WatchOptions& options) {
  bool is_raised = IsAnrAhead() && now_ns >= AnrNs();
  bool is_known = stack_hash == kNoStack || IsKnown(stack_hash);
  bool is_new = !is_hanging_ || is_raised || !is_known;
  if (is_raised) level_ = HangLevel::kAnr;
  is_hanging_ = true;
  is_window_open_ = false;
  window_of_hang_ns_ = now_ns + SampleIntervalNs(now_ns);
  if (!is_known) known_hashes_[known_count_++ % kMaxReportsPerHang] = stack_hash;
  if (is_new) recheck_interval_.Reset();
  next_check_ns_ =
      NoLaterThanAnr(now_ns + (is_new ? options.check_period_ns : recheck_interval_.NextIntervalNs()));
  if (!is_new) return Outcome::kUnchanged;
  // The last place is kept for the raised level.
  uint32_t max_count = IsAnrAhead() ? kMaxReportsPerHang - 1 : kMaxReportsPerHang;
  return report_count_ < max_count ? Outcome::kReport : Outcome::kOverLimit;
}

bool SpanWatch::IsKnown(uint64_t stack_hash) const {
  const uint64_t* end = known_hashes_ + std::min(known_count_, kMaxReportsPerHang);
  return std::find(known_hashes_, end, stack_hash) != end;
}

int64_t SpanWatch::NoLaterThanAnr(int64_t check_ns) const {
  return IsAnrAhead() ? std::max(std::min(check_ns, AnrNs()), put_off_to_ns_) : check_ns;
}

}  // namespace lagwatch::watchdog
