// SPDX-License-Identifier: Apache-2.0
// Puts records on disk so that they survive the program being killed. Format: docs/spool_format.md.
// A record is in the page cache when Append() returns: a crash or SIGKILL of the program loses nothing. A
// crash of the machine loses what the kernel has not written back; a SyncPolicy says what is written back at
// once, by a thread of the spool's own: the disk may be what the program hangs on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/counter.h"
#include "base/process/env.h"
#include "base/status.h"
#include "base/uuid.h"
#include "policies/upload/report_priority.h"
#include "policies/upload/spool_open_retry.h"
#include "report/spool/sealed_segments.h"
#include "report/spool/segment_format.h"
#include "report/spool/segment_path.h"
#include "report/spool/segment_syncer.h"

namespace lagwatch::report {

struct SpoolLimits {
  size_t segment_bytes = 1 << 20;  // a segment is sealed rather than growing past this
  size_t record_bytes = 1 << 20;   // a longer payload is dropped
  // Limit of this writer's sealed and unsent segments; past it the least important are removed,
  // the oldest first.
  uint64_t unsent_bytes = 64 << 20;
};

// The records to sync to disk at once.
enum class SyncPolicy : uint8_t { kNever, kHangStartAndEnd, kEveryRecord };

struct RecordNote {
  policies::ReportPriority priority = policies::ReportPriority::kSlow;
  bool is_hang_start_or_end = false;
  bool is_sealed_report = false;  // a report inside a sealed record
};

// The reason why the system refused a write.
enum class SpoolRefusal : uint8_t {
  kNoSpace,    // the disk, a quota or the file size limit is full
  kForbidden,  // a read-only file system, permissions
  kIo,         // a bad disk; also a write that was cut short
  kOther,      // no directory, no descriptors
};
inline constexpr size_t kSpoolRefusals = 4;

struct SpoolCounters {
  uint64_t records_written = 0;
  uint64_t records_dropped = 0;  // too long, refused, or not even tried after many refusals
  uint64_t segments_sealed = 0;
  uint64_t reports_removed = 0;                        // written, then removed for limits.unsent_bytes
  std::array<uint64_t, kSpoolRefusals> refusals = {};  // by SpoolRefusal: of single system calls
  uint64_t syncs = 0;
  uint64_t syncs_failed = 0;
};

// Thread safety: one thread at a time writes; counters() may be called from any.
// The watchdog thread should have all signals blocked: a write past RLIMIT_FSIZE raises SIGXFSZ.
class SpoolWriter {
 public:
  // Makes the directory and allocates all that will ever be needed; writes no file yet. `env` and `clock` are
  // borrowed, `env` for ever if it has a disk that hangs. Starts a thread unless `sync` is kNever; if that
  // fails, nothing is synced. Errors: kIo; kInvalid for a path that is too long and for a directory that
  // CheckSpoolDirectory() refuses. Context: background.
  static base::Result<std::unique_ptr<SpoolWriter>> Create(base::Env* env, const std::string& directory,
                                                           const base::Uuid& session,
                                                           const SpoolLimits& limits,
                                                           SyncPolicy sync = SyncPolicy::kNever,
                                                           const base::Clock* clock = &base::SystemClock());
  // Seals what was written, and waits for half a second at most for the disk to have what it is to
  // have. Context: background.
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Writes one record with one system call. Returns false if it was dropped (and counted): the disk is full,
  // the payload is too long. Records written before stay readable. If no segment could be begun several times
  // in a row, that is tried more rarely, and at once when the directory has changed. Context: watchdog.
  bool Append(RecordType type, std::string_view payload, const RecordNote& note = {});
  // Hands the records written so far to the uploader; the next Append starts a new segment. Does nothing when
  // there are none, so it may be called at every tick. Where a thread that has its own descriptor table may
  // not rename the segment (the process has given up its privileges), the segment goes on: it could not begin
  // another one. Context: watchdog.
  void Seal();
  // Opens the next segment ahead, so that the process may lose the right, or the descriptors, to do
  // so later. Does nothing on a thread without its own descriptor table (base::HasOwnFiles). From
  // then on only this thread may write, until Finish(). A failure is not counted: the next Append
  // tries again. Context: watchdog.
  void Prepare();
  // From now on no segment is opened ahead; one that is empty is removed. Context: watchdog.
  void FinishPreparing();
  // Seals what was written, removes a segment that was opened ahead, and holds no descriptor any
  // more. Context: watchdog.
  void Finish();
  // Whether the segment that was sealed last is still there: then it was not sent so far. Context: watchdog.
  bool IsLastSealedLeft() const;
  // For the child of a fork(): leaves segment and thread to the parent. Context: background.
  void AbandonInForkedChild();

  SpoolCounters counters() const;

 private:
  SpoolWriter(base::Env* env, const std::string& directory, const base::Uuid& session,
              const SpoolLimits& limits, SyncPolicy sync, const base::Clock* clock);

  bool TryAppend(RecordType type, std::string_view payload);
  bool OpenSegment();
  // True when it was; else the error is counted.
  bool IsDone(int error);
  int CreateSegment();
  void CloseSegment();
  // Goes on with the next sequence number, and leaves the descriptor as it is.
  void ForgetSegment();
  // False when the system refused to rename the segment, which is counted.
  bool TryRenameSealed();
  void RemoveIfEmpty();
  // Whether the segment's descriptor is in the calling thread's table.
  bool IsDescriptorHere() const;
  void MakeRoom();
  // The conditions for beginning a segment: changes when files in the directory come or go.
  uint64_t DirectoryState() const;
  SegmentPath PathOf(uint32_t sequence, std::string_view suffix) const {
    return {path_prefix_, sequence, suffix};
  }

  base::Env* env_;
  const base::Clock* clock_;
  std::string directory_;
  std::string path_prefix_;
  SpoolLimits limits_;
  SyncPolicy sync_;
  std::unique_ptr<SegmentSyncer> syncer_;  // may be null
  policies::SpoolOpenRetry open_retry_;
  SealedSegments sealed_;
  int fd_ = -1;
  // The thread in whose own descriptor table fd_ is; 0: it is in the table that the program's threads share.
  int fd_owner_tid_ = 0;
  bool is_preparing_ = true;
  bool has_prepare_failed_ = false;  // since the last segment was begun
  uint32_t refused_bytes_ = 0;       // of the segment, when it could not be renamed
  // The one that is being written: its good records.
  SealedSegment segment_{0, 0, 0, policies::ReportPriority::kTrace};
  bool has_sealed_ = false;
  uint32_t last_sealed_ = 0;  // its sequence number, if any was sealed
  base::Counter records_written_;
  base::Counter records_dropped_;
  base::Counter segments_sealed_;
  base::Counter reports_removed_;
  std::array<base::Counter, kSpoolRefusals> refusals_;
};

}  // namespace lagwatch::report
