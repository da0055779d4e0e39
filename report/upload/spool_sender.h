// SPDX-License-Identifier: Apache-2.0
// Sends the records of a spool's segments that the gate admits, oldest first, and removes the segments once
// the collector has answered. One process at a time sends a spool; if it is killed, the next one continues:
// records that were sent but not answered are sent again, and stored once, since reports have ids. Context:
// background. Not thread-safe, except stats() and Hurry().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/env.h"
#include "report/spool/spool_reader.h"
#include "report/upload/ledger_file.h"
#include "report/upload/name_frames.h"
#include "report/upload/transport/transport.h"
#include "report/upload/upload_gate.h"
#include "report/upload/upload_policies.h"

namespace lagwatch::report {

struct UploadStats {
  uint64_t reports_delivered = 0;          // sealed ones too
  uint64_t records_rejected = 0;           // set aside in a .rejected file
  uint64_t bytes_skipped = 0;              // damaged parts of segments
  uint64_t failures = 0;                   // requests that were not answered, or with "later" or "wrong key"
  uint64_t ledgers_damaged = 0;            // and replaced by an empty one
  LossCounts losses{};                     // reports that are not sent, by LossReason
  std::optional<uint64_t> config_version;  // that the collector's last answer named
  std::string last_problem;                // of the latest of all these, for a person
};

class SpoolSender {
 public:
  // All borrowed. Without policies everything is sent.
  SpoolSender(base::Env* env, const std::string& spool_directory, Transport* transport, FrameNamer* namer,
              const base::Clock& clock = base::SystemClock());

  // Asked for at each round, on its thread: they may change while the program runs.
  void SetPolicies(std::function<UploadPolicies()> policies) { policies_ = std::move(policies); }

  // Decides about some of the segments and sends what is to be sent of them. None when there is nothing to
  // do, or another process sends this spool. kDelivered: those segments are done with, what the collector
  // refused is set aside. Else all are kept.
  std::optional<UploadAnswer> UploadOnce();
  // Keeps the spool within its limits, every ten minutes; UploadOnce does so as well. This is for when
  // nothing may be sent, for a while or at all.
  void SweepIfTimeTo();
  // From any thread: what takes long and can wait, such as sweeping away thousands of segments, ends soon.
  void Hurry() { is_hurried_ = true; }
  // The number of segments that wait to be sent.
  size_t CountSegmentsLeft() const;
  // From any thread.
  UploadStats stats() const;
  // Two of these, without allocating. From any thread.
  uint64_t reports_delivered() const;
  LossCounts losses() const;

 private:
  struct Load {
    std::vector<std::string> files;  // of the segments
    std::vector<WaitingSegment> segments;
  };
  // A record under way, and the place that it came from.
  struct Pending {
    OwnedRecord record;
    size_t segment;          // index into Load::segments; kNoSegment for losses
    size_t index;            // in the segment
    bool is_report = false;  // a sealed one, too
  };
  using Rejected = std::vector<const Pending*>;
  static constexpr size_t kNoSegment = SIZE_MAX;

  // A ledger that there was nothing to do about: it is not read again until it is another one or
  // losses are due.
  struct IdleLedger {
    std::optional<LedgerVersion> version;
    std::optional<int64_t> losses_wait_since_wall_ms;
  };

  std::optional<UploadAnswer> TryUploadOnce();
  bool MayHaveLossesToSend(const UploadPolicies& policies) const;
  void SweepIfTimeTo(const UploadPolicies& policies);
  void Sweep(const UploadPolicies& policies);
  std::optional<UploadAnswer> RunRound(const UploadPolicies& policies, const std::vector<std::string>& files);
  std::vector<std::string> ListSegments() const;
  base::Status NotePresent(const std::vector<std::string>& files);
  static void PutTracesLast(Load* load);
  Load NextLoad(const std::vector<std::string>& files);
  std::vector<Pending> ToSend(UploadGate* gate, Load* load);
  std::vector<Pending> ToSend(const WaitingSegment& segment, size_t index, const UploadGate& gate);
  UploadAnswer Send(std::span<const Pending> records, Rejected* rejected);
  UploadAnswer SendOrHalve(std::span<const Pending> records, Rejected* rejected);
  UploadAnswer SendHalves(std::span<const Pending> records, Rejected* rejected);
  UploadAnswer Post(std::span<const Pending> records);
  UploadAnswer PostPacked(std::span<const Pending> records);
  UploadAnswer SendWhole(std::span<const Pending> records, Rejected* rejected);
  base::Status Settle(const Load& load, const Rejected& rejected, bool had_losses, UploadGate* gate);
  base::Status SetAside(const Load& load, const Rejected& rejected);
  base::Status Save();
  bool SaveOrNote();
  void CountLosses(const LossCounts& counted);
  void Remove(const Load& load);
  void NoteProblem(const std::string& problem);

  base::Env* env_;
  std::string spool_directory_;
  SpoolReader reader_;
  LedgerFile ledger_file_;
  Transport* transport_;
  FrameNamer* namer_;
  const base::Clock& clock_;
  std::function<UploadPolicies()> policies_ = [] { return UploadPolicies(); };
  std::optional<int64_t> last_sweep_mono_ns_;
  std::set<std::string> present_;   // segments that may be there
  std::set<std::string> finished_;  // sent, but could not be removed
  std::optional<IdleLedger> idle_ledger_;
  std::atomic<bool> is_hurried_{false};
  uint32_t packed_version_ = 1;  // that the collector reads, as its last answer says
  mutable std::mutex stats_mutex_;
  UploadStats stats_;  // guarded by stats_mutex_
};

}  // namespace lagwatch::report
