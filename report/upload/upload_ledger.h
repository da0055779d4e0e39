// SPDX-License-Identifier: Apache-2.0
// The decisions about the reports in a spool, kept so that no crash makes one be decided, or counted, twice.
// JSON with a checksum in the spool directory (ledger_file.h). Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "policies/upload/daily_quota.h"
#include "report/format/losses.h"
#include "report/spool/record_facts.h"

namespace lagwatch::report {

// Holds as long as the segment's file is there.
struct SegmentDecision {
  uint32_t sample_rate_ppm = 0;     // of users; 0: all
  std::set<uint64_t> dropped = {};  // RecordFacts::key of each record that is not sent, except ends of hangs
  std::set<uint64_t> forced = {};   // and of each that is sent past the sampling
  // Nothing of it is to be sent any more, and its losses are counted: only the file is left to be removed.
  bool is_done = false;
  bool is_damage_counted = false;  // it may be damaged before it is decided about, or later
};

// A segment's name in the ledger: its file's without the ending, which may change.
std::string StemOf(std::string_view file_name);

struct UploadLedger {
  static constexpr size_t kMaxDroppedReports = 1024;
  static constexpr size_t kMaxQuotaUses = 48;
  static constexpr size_t kMaxOrigins = 32;  // of losses, each with as many reasons and causes as
  static constexpr size_t kMaxLossesOfOrigin = 128;

  std::string installation = {};  // identifies this installation where reports name no user; never sent
  std::map<uint64_t, policies::QuotaUse> quota_uses = {};  // by hash of app, user and what
  std::map<std::string, SegmentDecision> segments = {};    // by file name, without its ending
  std::deque<base::Uuid> dropped_reports = {};             // whose ends are not sent either; the latest
  std::vector<Losses> losses = {};                         // counted, and not sent so far
  std::vector<Losses> frozen = {};                         // sent, or about to be, and not answered

  // Neither where nothing is known of the app nor past the limits is anything left uncounted.
  void CountLoss(const Origin& origin, const Loss& loss, int64_t now_wall_ms);
  // Freezes the present counts, to be sent unchanged from now on. Does nothing while earlier frozen counts
  // are not answered.
  void FreezeLosses();
  // The time when the oldest of the counts was begun, long ago if some are frozen: these wait for an answer
  // only. None if everything was sent.
  std::optional<int64_t> LossesWaitSince() const;
  void NoteDropped(const base::Uuid& report_id);
  bool IsDropped(const base::Uuid& report_id) const;
  // Made at its first use; the one that was used least recently gives way.
  enum class Quota { kReports, kTraces, kTraceKib, kSlow };
  policies::QuotaUse* QuotaUseOf(const Origin& origin, Quota quota = Quota::kReports);

  std::string ToText() const;
  // Errors: kInvalid for a text that ToText did not make: damaged, or a later version's.
  static base::Result<UploadLedger> Parse(std::string_view text);
  // An empty one, with an installation of its own.
  static UploadLedger New(int64_t now_wall_ms);
};

}  // namespace lagwatch::report
