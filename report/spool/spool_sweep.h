// SPDX-License-Identifier: Apache-2.0
// Keeps a spool within its limits, and clears away what crashes left behind. Segments that running programs
// write to are not touched, nor are files that the spool does not know. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/process/env.h"
#include "base/status.h"
#include "policies/upload/retention.h"
#include "report/spool/record_facts.h"

namespace lagwatch::report {

struct SweepLimits {
  policies::RetentionLimits retention = {};
  int64_t orphan_ms = 24 * 3600 * int64_t{1'000};  // a temporary file without content that counts is older
};

// Decisions and actions of the caller.
class SweepVisitor {
 public:
  virtual ~SweepVisitor() = default;
  // The segment `name`, which was not sent, is about to be removed: the time to count what is in it, so that
  // the same name is not counted again. False when that cannot be done: then it stays. Not called for records
  // that a collector refused.
  virtual bool OnRemoval(const std::string& name, const SegmentFacts& segment,
                         policies::RemovalReason reason) = 0;
  // After at most kSweepBatch segments: what was counted of them is to last from now on, for they are removed
  // next. False when that cannot be done: then they stay, and the sweep ends.
  virtual bool KeepCounts() { return true; }
  // The segment is gone. Not called for records that a collector refused.
  virtual void OnRemoved(const std::string& /*name*/) {}
  // Asked after each batch: whether to go on with the next one.
  virtual bool GoesOn() { return true; }
};

// So many segments are counted before the first of them is removed.
inline constexpr size_t kSweepBatch = 256;

struct SweepResult {
  size_t segments_removed = 0;  // with files of refused records
  uint64_t bytes_removed = 0;
  size_t orphans_removed = 0;
  size_t not_removed = 0;  // the visitor or the system refused, or the sweep ended before
};

// Errors: as SpoolReader::List.
base::Result<SweepResult> SweepSpool(base::Env* env, const std::string& directory, const SweepLimits& limits,
                                     int64_t now_wall_ms, SweepVisitor* visitor);

}  // namespace lagwatch::report
