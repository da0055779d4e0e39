// SPDX-License-Identifier: Apache-2.0
#include "report/upload/upload_gate.h"

#include <algorithm>
#include <utility>

#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using policies::QuotaAnswer;
using policies::ReportPriority;
using policies::UserSampling;

bool Contains(const std::vector<base::Uuid>& ids, const base::Uuid& id) {
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace

void UploadGate::Decide(std::span<WaitingSegment> segments) {
  for (WaitingSegment& segment : segments) {
    segment.facts.clear();
    for (const OwnedRecord& record : segment.content.records) segment.facts.push_back(FactsOf(record));
  }
  const std::vector<base::Uuid> killed = LagsOfKilledRuns(segments);
  std::vector<Candidate> candidates;
  std::vector<const WaitingSegment*> undecided;
  for (WaitingSegment& segment : segments) {
    const bool is_decided = ledger_->segments.contains(segment.name);
    CountDamage(segment);  // first: who is sampled or not tells of it
    if (is_decided) continue;
    undecided.push_back(&segment);
    DecideSegment(&segment, killed, &candidates);
  }
  DecideByQuota(std::move(candidates));
  for (WaitingSegment& segment : segments)
    if (std::ranges::find(undecided, &segment) != undecided.end()) DecideTraces(segment);
  for (const WaitingSegment* segment : undecided) MarkDone(*segment);
}

// Of sealed reports nobody knows whose they are; that they are another user's than this program's is
// unlikely.
bool UploadGate::IsForced(const RecordFacts& facts) const {
  return policies_.is_forced && facts.has_origin && (facts.is_sealed || facts.origin.user == policies_.user);
}

uint32_t UploadGate::RateOf(const WaitingSegment& segment, size_t record) const {
  const SegmentDecision& decision = ledger_->segments.at(segment.name);
  return decision.forced.contains(RecordKey(segment.content.records[record])) ? 0 : decision.sample_rate_ppm;
}

std::vector<base::Uuid> UploadGate::LagsOfKilledRuns(std::span<const WaitingSegment> segments) const {
  std::vector<base::Uuid> lags;
  for (const WaitingSegment& segment : segments) {
    for (size_t i = 0; i < segment.facts.size(); ++i) {
      const bool is_run_end = segment.facts[i].type == RecordType::kRunEnd;
      if (is_run_end && segment.facts[i].report_id != base::Uuid{})
        lags.push_back(segment.facts[i].report_id);
    }
  }
  return lags;
}

// kUnknown when nothing is against it.
LossReason UploadGate::WhyNotSent(const RecordFacts& facts) const {
  if (policies_.is_turned_off) return LossReason::kTurnedOff;
  if (!facts.has_origin) return LossReason::kUnknown;
  if (now_wall_ms_ - policies_.retention.longest_ms > facts.made_wall_ms) return LossReason::kTooOld;
  const std::string& user = facts.origin.user.empty() ? ledger_->installation : facts.origin.user;
  const bool is_sampled =
      IsForced(facts) || policies_.sampling.IsSampled(user, policies::DayOf(facts.made_wall_ms));
  return is_sampled ? LossReason::kUnknown : LossReason::kNotSampled;
}

void UploadGate::DecideSegment(WaitingSegment* segment, const std::vector<base::Uuid>& killed,
                               std::vector<Candidate>* candidates) {
  const bool is_sampling = policies_.sampling.rate_ppm < UserSampling::kAllPpm;
  const uint32_t rate_ppm = is_sampling ? policies_.sampling.rate_ppm : 0;
  SegmentDecision& decision = ledger_->segments[segment->name];
  decision.sample_rate_ppm = rate_ppm;
  for (size_t i = 0; i < segment->facts.size(); ++i) {
    const RecordFacts& facts = segment->facts[i];
    if (is_sampling && IsForced(facts)) decision.forced.insert(RecordKey(segment->content.records[i]));
    if (const LossReason why = WhyNotSent(facts); why != LossReason::kUnknown) {
      // Who is not sampled tells of the other reasons all the same: these stand for nobody else.
      Drop(*segment, i, why, why == LossReason::kNotSampled ? RateOf(*segment, i) : 0);
    } else if (facts.type == RecordType::kReport && facts.has_origin) {
      const bool was_killed = Contains(killed, facts.lag_id) || Contains(killed, facts.report_id);
      candidates->push_back({segment, i, was_killed ? ReportPriority::kKilledInHang : facts.priority});
    }
  }
}

// Once: how many reports were in the damaged part is not known. Without a rate as long as nothing is decided.
void UploadGate::CountDamage(const WaitingSegment& segment) {
  SegmentDecision& decision = ledger_->segments[segment.name];
  if (segment.content.skipped_bytes == 0 || decision.is_damage_counted || decision.is_done) return;
  decision.is_damage_counted = true;
  const auto told = std::ranges::find_if(segment.facts, &RecordFacts::has_origin);
  Count(told == segment.facts.end() ? Origin{} : told->origin,
        {LossReason::kDamaged, 0, 1, decision.sample_rate_ppm});
}

void UploadGate::DecideByQuota(std::vector<Candidate> candidates) {
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::priority);
  for (const Candidate& candidate : candidates) {
    const RecordFacts& facts = candidate.segment->facts[candidate.record];
    if (IsForced(facts)) continue;
    const uint32_t rate_ppm = RateOf(*candidate.segment, candidate.record);
    switch (TakeQuota(facts, candidate.priority)) {
      case QuotaAnswer::kSend:
        break;
      case QuotaAnswer::kDayIsFull:
        Drop(*candidate.segment, candidate.record, LossReason::kDayIsFull, rate_ppm);
        break;
      case QuotaAnswer::kClusterIsFull:
        Drop(*candidate.segment, candidate.record, LossReason::kCauseIsFull, rate_ppm);
        break;
    }
  }
}

QuotaAnswer UploadGate::TakeQuota(const RecordFacts& facts, ReportPriority priority) {
  const int64_t today = policies::DayOf(now_wall_ms_);
  if (priority != ReportPriority::kSlowDispatch) {
    return policies::DailyQuota(policies_.quota, ledger_->QuotaUseOf(facts.origin))
        .Take(facts.cause, priority, today);
  }
  policies::DailyQuota quota({policies_.slow.per_day, policies_.slow.per_cause},
                             ledger_->QuotaUseOf(facts.origin, UploadLedger::Quota::kSlow));
  return quota.Take(facts.cause, ReportPriority::kKilledInHang, today);  // all of it is theirs
}

// Where their reports go, and within limits of their own. No report is lost with one, so none is counted.
void UploadGate::DecideTraces(const WaitingSegment& segment) {
  const int64_t today = policies::DayOf(now_wall_ms_);
  const policies::QuotaLimits size_limits{.per_day = policies_.traces.kib_per_day};
  for (size_t i = 0; i < segment.facts.size(); ++i) {
    const RecordFacts& facts = segment.facts[i];
    const OwnedRecord& record = segment.content.records[i];
    if (facts.type != RecordType::kTrace || !facts.has_origin || !IsSent(segment, i) || IsForced(facts))
      continue;
    const auto size_kib = static_cast<uint32_t>((record.payload.size() + 1023) / 1024);
    using Quota = UploadLedger::Quota;
    policies::QuotaUse* size_use = ledger_->QuotaUseOf(facts.origin, Quota::kTraceKib);
    const policies::QuotaUse before = *size_use;
    bool is_sent = !ledger_->IsDropped(facts.report_id) &&
                   policies::DailyQuota(size_limits, size_use).TakeAmount(size_kib, today);
    const uint32_t per_cause =
        facts.cause != 0 ? policies_.traces.per_cause : policies::QuotaLimits::kNoLimit;
    policies::DailyQuota counts({policies_.traces.per_day, per_cause},
                                ledger_->QuotaUseOf(facts.origin, Quota::kTraces));
    if (is_sent && counts.Take(facts.cause, ReportPriority::kKilledInHang, today) != QuotaAnswer::kSend) {
      *ledger_->QuotaUseOf(facts.origin, Quota::kTraceKib) = before;
      is_sent = false;
    }
    if (!is_sent) Drop(segment, i, LossReason::kUnknown, 0);
  }
}

// The ends of lags have to wait until all reports are decided about.
void UploadGate::MarkDone(const WaitingSegment& segment) {
  bool is_any_sent = false;
  for (size_t i = 0; i < segment.facts.size(); ++i) is_any_sent = is_any_sent || IsSent(segment, i);
  ledger_->segments[segment.name].is_done = !is_any_sent;
}

bool UploadGate::IsSent(const WaitingSegment& segment, size_t record) const {
  const auto decision = ledger_->segments.find(segment.name);
  if (decision == ledger_->segments.end() || decision->second.is_done) return false;
  const OwnedRecord& content = segment.content.records[record];
  const RecordFacts& facts = segment.facts[record];
  if (facts.type == RecordType::kLagEnd && ledger_->IsDropped(facts.report_id)) return false;
  return !decision->second.dropped.contains(RecordKey(content));
}

std::string UploadGate::Annotated(const WaitingSegment& segment, size_t record) const {
  const RecordFacts& facts = segment.facts[record];
  const OwnedRecord& content = segment.content.records[record];
  std::string payload = content.payload;
  if (!facts.has_origin) return payload;
  const uint32_t rate_ppm = RateOf(segment, record);
  if (rate_ppm != 0) AppendSampleRate(content.type, rate_ppm, &payload);
  if (facts.cause != 0 && content.type == RecordType::kReport) AppendCause(facts.cause, &payload);
  return payload;
}

std::span<const Losses> UploadGate::LossesToSend(bool goes_along) {
  if (policies_.is_turned_off) return {};
  if (goes_along || policies_.AreLossesDue(ledger_->LossesWaitSince(), now_wall_ms_)) ledger_->FreezeLosses();
  return ledger_->frozen;
}

void UploadGate::CountRefused(const WaitingSegment& segment, size_t record) {
  CountRecord(segment.content.records[record], segment.facts[record], LossReason::kRefused,
              RateOf(segment, record));
}

void UploadGate::CountRemoved(const std::string& name, const Segment& content, LossReason reason) {
  WaitingSegment segment{.name = name, .content = content};
  for (const OwnedRecord& record : segment.content.records) segment.facts.push_back(FactsOf(record));
  const bool is_decided = ledger_->segments.contains(name);
  SegmentDecision& decision = ledger_->segments[name];
  for (size_t i = 0; i < segment.facts.size(); ++i) {
    if (!is_decided || IsSent(segment, i)) Drop(segment, i, reason, RateOf(segment, i));
  }
  CountDamage(segment);
  decision.is_done = true;
}

void UploadGate::Drop(const WaitingSegment& segment, size_t record, LossReason reason, uint32_t rate_ppm) {
  const OwnedRecord& content = segment.content.records[record];
  const bool is_new = ledger_->segments[segment.name].dropped.insert(RecordKey(content)).second;
  if (is_new) CountRecord(content, segment.facts[record], reason, rate_ppm);
}

void UploadGate::CountRecord(const OwnedRecord& record, const RecordFacts& facts, LossReason reason,
                             uint32_t rate_ppm) {
  if (record.type == RecordType::kLosses) {
    // Counted before, by who found nobody to send them.
    const auto earlier = DecodeLosses(record.payload);
    if (!earlier.ok()) return;
    for (const Loss& loss : earlier->losses)
      ledger_->CountLoss({earlier->app, earlier->app_version, earlier->user}, loss, now_wall_ms_);
  }
  if (facts.type != RecordType::kReport) return;
  // By their causes lost reports are estimated to be lags, which a slow dispatch is not.
  const uint64_t cause = facts.priority == ReportPriority::kSlowDispatch ? 0 : facts.cause;
  Count(facts.origin, {reason, cause, 1, rate_ppm});
  if (facts.has_origin) ledger_->NoteDropped(facts.report_id);
}

void UploadGate::Count(const Origin& origin, const Loss& loss) {
  ledger_->CountLoss(origin, loss, now_wall_ms_);
  counted_[static_cast<size_t>(loss.reason)] += loss.count;
}

}  // namespace lagwatch::report
