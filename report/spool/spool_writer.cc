// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/hash.h"
#include "base/process/quiet_thread.h"
#include "base/system/thread.h"
#include "report/spool/spool_directory.h"

namespace lagwatch::report {
namespace {

constexpr int64_t kStopTimeoutNs = base::kNsPerSecond / 2;

SpoolRefusal RefusalOf(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return SpoolRefusal::kNoSpace;
    case EROFS:
    case EACCES:
    case EPERM:
      return SpoolRefusal::kForbidden;
    case EIO:
      return SpoolRefusal::kIo;
    default:
      return SpoolRefusal::kOther;
  }
}

}  // namespace

Result<std::unique_ptr<SpoolWriter>> SpoolWriter::Create(base::Env* env, const std::string& directory,
                                                         const base::Uuid& session, const SpoolLimits& limits,
                                                         SyncPolicy sync, const base::Clock* clock) {
  const std::string path_prefix = SegmentPath::PrefixOf(directory, session);
  if (!SegmentPath::Fits(path_prefix)) {
    return Status(StatusCode::kInvalid, "the spool directory's path is too long: choose a shorter one");
  }
  if (int error = env->CreateDirectories(directory)) {
    return base::IoError("cannot create the spool directory " + directory, error);
  }
  if (Status checked = CheckSpoolDirectory(env, directory); !checked.ok()) return checked;
  std::unique_ptr<SpoolWriter> writer(new SpoolWriter(env, directory, session, limits, sync, clock));
  if (sync != SyncPolicy::kNever) writer->syncer_ = SegmentSyncer::Start(env, directory, path_prefix);
  return writer;
}

SpoolWriter::SpoolWriter(base::Env* env, const std::string& directory, const base::Uuid& session,
                         const SpoolLimits& limits, SyncPolicy sync, const base::Clock* clock)
    : env_(env),
      clock_(clock),
      directory_(directory),
      path_prefix_(SegmentPath::PrefixOf(directory, session)),
      limits_(limits),
      sync_(sync),
      sealed_(limits.unsent_bytes) {}

SpoolWriter::~SpoolWriter() {
  Finish();
  if (syncer_ != nullptr && !syncer_->TryStop(kStopTimeoutNs)) static_cast<void>(syncer_.release());
}

bool SpoolWriter::Append(RecordType type, std::string_view payload, const RecordNote& note) {
  if (!TryAppend(type, payload)) {
    records_dropped_.Add();
    return false;
  }
  records_written_.Add();
  segment_.reports += type == RecordType::kReport || note.is_sealed_report ? 1 : 0;
  segment_.priority = std::max(segment_.priority, note.priority);
  const bool is_to_sync = sync_ == SyncPolicy::kEveryRecord ||
                          (sync_ == SyncPolicy::kHangStartAndEnd && note.is_hang_start_or_end);
  if (is_to_sync && syncer_ != nullptr) syncer_->Ask(segment_.sequence);
  return true;
}

bool SpoolWriter::TryAppend(RecordType type, std::string_view payload) {
  if (payload.size() > limits_.record_bytes) return false;
  const size_t record_bytes = sizeof(RecordHeader) + payload.size();
  if (segment_.size_bytes + record_bytes > limits_.segment_bytes) {
    Seal();
    if (segment_.size_bytes != 0) CloseSegment();  // it could not be renamed, but is full
  }
  if (fd_ < 0 && !OpenSegment()) return false;

  const RecordHeader header = MakeRecordHeader(type, payload);
  const std::string_view header_bytes(reinterpret_cast<const char*>(&header), sizeof header);
  if (IsDone(env_->AppendBoth(fd_, header_bytes, payload))) {
    segment_.size_bytes += static_cast<uint32_t>(record_bytes);
    return true;
  }
  // Part of the record may be there. Where it cannot be cut off, it must stay the segment's last.
  if (!IsDone(env_->Truncate(fd_, segment_.size_bytes))) CloseSegment();
  return false;
}

bool SpoolWriter::IsDone(int error) {
  if (error != 0) refusals_[static_cast<size_t>(RefusalOf(error))].Add();
  return error == 0;
}

bool SpoolWriter::OpenSegment() {
  const int64_t now_ns = clock_->MonoNs();
  if (!open_retry_.MayTry(now_ns, [this] { return DirectoryState(); })) return false;
  has_prepare_failed_ = !IsDone(CreateSegment());
  if (!has_prepare_failed_) {
    open_retry_.NoteWorked();
    return true;
  }
  open_retry_.NoteFailed(now_ns, DirectoryState());
  return false;
}

int SpoolWriter::CreateSegment() {
  // Under its own name a segment is always locked: else a reader that looks between the two system calls
  // would take it for a dead process's.
  const SegmentPath unlocked = PathOf(segment_.sequence, kNewSuffix);
  if (int error = env_->CreateLocked(unlocked.text(), &fd_)) {
    fd_ = -1;
    return error;
  }
  fd_owner_tid_ = base::HasOwnFiles() ? base::CurrentThreadId() : 0;
  const int error = env_->Rename(unlocked.text(), PathOf(segment_.sequence, kOpenSuffix).text());
  if (error == 0) return 0;
  env_->Remove(unlocked.text());
  CloseSegment();
  return error;
}

uint64_t SpoolWriter::DirectoryState() const {
  base::FileFacts facts;
  if (env_->Look(directory_.c_str(), &facts) != 0) return 0;
  return static_cast<uint64_t>(facts.modified_wall_ms) << 12 ^ facts.mode;
}

bool SpoolWriter::IsDescriptorHere() const {
  return fd_owner_tid_ == 0 || fd_owner_tid_ == base::CurrentThreadId();
}

void SpoolWriter::CloseSegment() {
  // In another thread's table the number is not ours; that table is closed when its thread ends.
  if (IsDescriptorHere()) env_->Close(fd_);
  ForgetSegment();
}

void SpoolWriter::ForgetSegment() {
  fd_ = -1;
  refused_bytes_ = 0;
  segment_ = {.sequence = segment_.sequence + 1,
              .size_bytes = 0,
              .reports = 0,
              .priority = policies::ReportPriority::kTrace};
}

bool SpoolWriter::TryRenameSealed() {
  const int error = env_->Rename(PathOf(segment_.sequence, kOpenSuffix).text(),
                                 PathOf(segment_.sequence, kSealedSuffix).text());
  if (IsDone(error)) return true;
  const bool is_forbidden = RefusalOf(error) == SpoolRefusal::kForbidden;
  if (is_forbidden && fd_owner_tid_ != 0) refused_bytes_ = segment_.size_bytes;
  return false;
}

void SpoolWriter::Seal() {
  if (segment_.size_bytes == 0 || segment_.size_bytes == refused_bytes_) return;
  // If no other segment could be begun, this one continues, up to its size limit.
  if (is_preparing_ && segment_.size_bytes < limits_.segment_bytes / 2 && base::HasOwnFiles() &&
      !env_->HasFreeDescriptor()) {
    refused_bytes_ = segment_.size_bytes;
    return;
  }
  // One that cannot be renamed is still read, once its lock is free.
  if (TryRenameSealed()) {
    segments_sealed_.Add();
    has_sealed_ = true;
    last_sealed_ = segment_.sequence;
    sealed_.Add(segment_);
  } else if (refused_bytes_ != 0) {
    return;
  }
  CloseSegment();
  if (sealed_.is_full()) MakeRoom();
}

void SpoolWriter::Prepare() {
  if (fd_ >= 0 || !is_preparing_ || has_prepare_failed_ || !base::HasOwnFiles()) return;
  has_prepare_failed_ = CreateSegment() != 0;
}

void SpoolWriter::FinishPreparing() {
  is_preparing_ = false;
  RemoveIfEmpty();
}

void SpoolWriter::Finish() {
  refused_bytes_ = 0;  // the last try
  Seal();
  RemoveIfEmpty();
  if (fd_ >= 0) CloseSegment();
}

void SpoolWriter::RemoveIfEmpty() {
  if (fd_ < 0 || segment_.size_bytes != 0) return;
  env_->Remove(PathOf(segment_.sequence, kOpenSuffix).text());
  CloseSegment();
}

void SpoolWriter::MakeRoom() {
  auto is_gone = [this](const SealedSegment& segment) {
    return !env_->Exists(PathOf(segment.sequence, kSealedSuffix).text());
  };
  sealed_.MakeRoom(is_gone, [this](const SealedSegment& segment) {
    const bool is_removed = env_->Remove(PathOf(segment.sequence, kSealedSuffix).text()) == 0;
    if (is_removed) reports_removed_.Add(segment.reports);
  });
}

bool SpoolWriter::IsLastSealedLeft() const {
  return has_sealed_ && env_->Exists(PathOf(last_sealed_, kSealedSuffix).text());
}

void SpoolWriter::AbandonInForkedChild() {
  // The child inherits no descriptor of a thread that has its own table.
  if (fd_ >= 0 && fd_owner_tid_ == 0) env_->Close(fd_);
  ForgetSegment();
  static_cast<void>(syncer_.release());
}

SpoolCounters SpoolWriter::counters() const {
  SpoolCounters counters{.records_written = records_written_.value(),
                         .records_dropped = records_dropped_.value(),
                         .segments_sealed = segments_sealed_.value(),
                         .reports_removed = reports_removed_.value()};
  for (size_t i = 0; i < kSpoolRefusals; ++i) counters.refusals[i] = refusals_[i].value();
  if (syncer_ != nullptr) {
    counters.syncs = syncer_->synced_count();
    counters.syncs_failed = syncer_->failed_count();
  }
  return counters;
}

}  // namespace lagwatch::report
