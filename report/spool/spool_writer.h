// SPDX-License-Identifier: Apache-2.0
// Puts records on disk so that they survive the program being killed. Format: docs/design/spool.md.
// A record is in the page cache when Append() returns: a crash or SIGKILL of the program loses nothing, a
// crash of the machine may lose the last seconds: nothing is fsynced, for the disk may be what the program
// hangs on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/status.h"
#include "base/uuid.h"
#include "report/spool/segment_format.h"

namespace lagwatch::report {

struct SpoolLimits {
  size_t segment_bytes = 1 << 20;  // a segment is sealed rather than growing past this
  size_t record_bytes = 1 << 20;   // a longer payload is dropped
};

struct SpoolCounters {
  uint64_t records_written = 0;
  uint64_t records_dropped = 0;
  uint64_t segments_sealed = 0;
};

// Thread safety: one thread at a time writes; counters() may be called from any.
// The watchdog thread should have all signals blocked: a write past RLIMIT_FSIZE raises SIGXFSZ.
class SpoolWriter {
 public:
  // Makes the directory and allocates all that will ever be needed; writes no file yet. `env` is borrowed.
  // Errors: kIo, kInvalid for a path that is too long. Context: background.
  static base::Result<std::unique_ptr<SpoolWriter>> Create(base::Env* env, const std::string& directory,
                                                           const base::Uuid& session,
                                                           const SpoolLimits& limits);
  // Seals what was written. Context: background.
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Writes one record with one write(2). False when it was dropped (and counted): the disk is full, the
  // payload is too long. What was written before stays readable. Context: watchdog.
  bool Append(RecordType type, std::string_view payload);
  // Hands the records written so far to the uploader; the next Append starts a new segment. Does nothing when
  // there are none, so it may be called at every tick. Context: watchdog.
  void Seal();
  // Whether the segment that was sealed last is still there: then it was not sent so far. Context: watchdog.
  bool IsLastSealedLeft() const;
  // For the child of a fork(): leaves the segment to the parent. Context: watchdog.
  void AbandonInForkedChild();

  SpoolCounters counters() const;

 private:
  struct Path {
    static constexpr size_t kMaxBytes = 4096;
    char text[kMaxBytes];
  };

  SpoolWriter(base::Env* env, std::string path_prefix, const SpoolLimits& limits);

  bool TryAppend(RecordType type, std::string_view payload);
  bool OpenSegment();
  void CloseSegment();
  Path SegmentPath(std::string_view suffix) const { return SegmentPath(sequence_, suffix); }
  Path SegmentPath(uint32_t sequence, std::string_view suffix) const;

  base::Env* env_;
  std::string path_prefix_;  // "DIRECTORY/SESSION-"
  SpoolLimits limits_;
  std::unique_ptr<char[]> record_;  // header and payload, so that one write takes both
  int fd_ = -1;
  uint32_t sequence_ = 0;
  size_t size_bytes_ = 0;  // of the segment's good records
  bool has_sealed_ = false;
  uint32_t last_sealed_ = 0;  // its sequence number, if any was sealed
  std::atomic<uint64_t> records_written_{0};
  std::atomic<uint64_t> records_dropped_{0};
  std::atomic<uint64_t> segments_sealed_{0};
};

}  // namespace lagwatch::report
