// SPDX-License-Identifier: Apache-2.0
// Decides which records of a spool are sent and which are not, and counts the latter: sent and counted ones
// together are all that were made. What is decided is in the ledger, and stays.
// Context: background; pure but for ids, which are random.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/spool/spool_reader.h"
#include "report/upload/record_facts.h"
#include "report/upload/upload_ledger.h"
#include "report/upload/upload_policies.h"

namespace lagwatch::report {

// A segment that waits, oldest first among several.
struct WaitingSegment {
  std::string name;  // without its ending
  Segment content;
  std::vector<RecordFacts> facts = {};  // by record; the gate's own
};

class UploadGate {
 public:
  // All borrowed.
  UploadGate(const UploadPolicies& policies, UploadLedger* ledger, int64_t now_wall_ms)
      : policies_(policies), ledger_(ledger), now_wall_ms_(now_wall_ms) {}

  // Decides about those that nothing is decided of yet, what matters most first.
  void Decide(std::span<WaitingSegment> segments);
  // After Decide. Records that are sent get what the collector has to know: their rate and their cause.
  bool IsSent(const WaitingSegment& segment, size_t record) const;
  std::string Annotated(const WaitingSegment& segment, size_t record) const;
  // After Decide. What was counted, if it is to be sent now.
  std::span<const Losses> LossesToSend(bool goes_along);

  // A report that was decided to be sent, and that the collector does not take.
  void CountRefused(const WaitingSegment& segment, size_t record);
  // What is about to be removed from disk unsent; nothing of it is to be sent any more.
  void CountRemoved(const std::string& name, const Segment& content, LossReason reason);

  // Counted by this gate since the last call.
  LossCounts TakeCounted() { return std::exchange(counted_, {}); }

 private:
  struct Candidate {
    WaitingSegment* segment;
    size_t record;
    policies::ReportPriority priority;
  };

  bool IsForced(const RecordFacts& facts) const;
  uint32_t RateOf(const WaitingSegment& segment, size_t record) const;
  std::vector<base::Uuid> LagsOfKilledRuns(std::span<const WaitingSegment> segments) const;
  LossReason WhyNotSent(const RecordFacts& facts) const;
  void DecideSegment(WaitingSegment* segment, const std::vector<base::Uuid>& killed,
                     std::vector<Candidate>* candidates);
  void CountDamage(const WaitingSegment& segment);
  void DecideByQuota(std::vector<Candidate> candidates);
  policies::QuotaAnswer TakeQuota(const RecordFacts& facts, policies::ReportPriority priority);
  void DecideTraces(const WaitingSegment& segment);
  void MarkDone(const WaitingSegment& segment);
  void CountRecord(const OwnedRecord& record, const RecordFacts& facts, LossReason reason, uint32_t rate_ppm);
  void Drop(const WaitingSegment& segment, size_t record, LossReason reason, uint32_t rate_ppm);
  void Count(const Origin& origin, const Loss& loss);

  const UploadPolicies& policies_;
  UploadLedger* ledger_;
  int64_t now_wall_ms_;
  LossCounts counted_{};
};

}  // namespace lagwatch::report
