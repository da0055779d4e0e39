// SPDX-License-Identifier: Apache-2.0
// Sends a spool's segments, oldest first, and removes them once the collector has answered. Several processes
// may send one spool: reports have ids, so what is sent twice is stored once; a vanished segment was sent.
// Context: background. Not thread-safe but for stats().
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "report/spool/spool_reader.h"
#include "report/upload/frame_namer.h"
#include "report/upload/transport.h"

namespace lagwatch::report {

struct UploadStats {
  uint64_t records_delivered = 0;
  uint64_t records_rejected = 0;  // set aside in a .rejected file
  uint64_t bytes_skipped = 0;     // damaged parts of segments
  uint64_t failures = 0;          // requests that were not answered, or with "later" or "wrong key"
  std::string last_problem;       // of the latest of all these, for a person
};

class SpoolSender {
 public:
  // All borrowed.
  SpoolSender(base::Env* env, const std::string& spool_directory, Transport* transport, FrameNamer* namer);

  // Sends as many whole segments as one request takes, at least one. None when there is nothing to send.
  // kDelivered: those segments are done with, what the collector refused is set aside. Else all are kept.
  std::optional<UploadAnswer> UploadOnce();
  // How many segments wait to be sent.
  size_t CountSegmentsLeft() const;
  // From any thread.
  UploadStats stats() const;

 private:
  struct PendingRecord {
    SpoolRecord record;
    size_t segment;  // index into Load::segments
  };
  struct Load {
    std::vector<std::string> segments;
    std::vector<PendingRecord> records;
    size_t size_bytes = 0;
  };
  using Rejected = std::vector<const PendingRecord*>;

  std::optional<UploadAnswer> TryUploadOnce();
  std::vector<std::string> ListSegments() const;
  Load NextLoad();
  bool TryAdd(const std::string& segment_name, Load* load);
  UploadAnswer Send(std::span<const PendingRecord> records, Rejected* rejected);
  UploadAnswer Post(std::span<const PendingRecord> records);
  void SetAside(const Load& load, const Rejected& rejected);
  void Finish(const Load& load, const Rejected& rejected);
  void NoteProblem(const std::string& problem);

  base::Env* env_;
  std::string spool_directory_;
  SpoolReader reader_;
  Transport* transport_;
  FrameNamer* namer_;
  std::set<std::string> finished_;  // sent, but could not be removed
  mutable std::mutex stats_mutex_;
  UploadStats stats_;  // guarded by stats_mutex_
};

}  // namespace lagwatch::report
