// SPDX-License-Identifier: Apache-2.0
// Writes records to the spool, sealed if the program has a seal key. Context: watchdog, one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/process/env.h"
#include "base/uuid.h"
#include "report/seal/sealer.h"
#include "report/spool/spool_sweep.h"
#include "report/spool/spool_writer.h"

namespace lagwatch::sdk {

// The unencrypted facts of a sealed record: see report::SealedLabel.
struct OutsideFacts {
  base::Uuid id;
  uint64_t cause = 0;
};

class RecordWriter {
 public:
  // Both borrowed. Without a sealer records are written as they are; with one, never.
  RecordWriter(report::SpoolWriter* spool, report::Sealer* sealer) : spool_(spool), sealer_(sealer) {}

  // False when it was dropped.
  bool Append(report::RecordType type, std::string_view payload, const OutsideFacts& outside,
              report::RecordNote note = {}) {
    if (sealer_ == nullptr) return spool_->Append(type, payload, note);
    const std::string_view sealed =
        sealer_->Seal({type, outside.id, outside.cause, WrittenPriority(note.priority)}, payload);
    note.is_sealed_report = type == report::RecordType::kReport;
    return !sealed.empty() && spool_->Append(report::RecordType::kSealed, sealed, note);
  }
  bool is_sealing() const { return sealer_ != nullptr; }

 private:
  static uint32_t WrittenPriority(policies::ReportPriority priority) {
    if (priority == policies::ReportPriority::kSlowDispatch) return policies::kWrittenSlowDispatch;
    return priority == policies::ReportPriority::kTrace ? 0 : static_cast<uint32_t>(priority);
  }

  report::SpoolWriter* spool_;
  report::Sealer* sealer_;
};

// Keeps the spool within its limits at the program's start, as long as no process sends it (spool_keeper.cc):
// a sender sweeps it, too, and knows what was decided about each report.
//
// Sweeps the directory that `writer` writes to, unless a ledger there shows that a process sends it: still,
// or again in this run (`is_sent`). The reports that it removes are counted in records of losses, appended by
// `writer` before: once, since such a record's id follows from the removed segment's name, and if a kill left
// both, only the segment is removed.
void SweepUnsentSpool(base::Env* env, const std::string& directory, bool is_sent, int64_t now_wall_ms,
                      report::SpoolWriter* writer);

}  // namespace lagwatch::sdk
