// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lagwatch::report {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr size_t kSequenceDigits = 6;      // at least: names sort by age for the first million segments
constexpr size_t kMaxSequenceDigits = 10;  // of a uint32_t

char* Put(std::string_view text, char* at) { return std::copy(text.begin(), text.end(), at); }

char* PutSequence(uint32_t sequence, char* at) {
  char digits[kMaxSequenceDigits];
  size_t count = 0;
  for (; sequence != 0 || count < kSequenceDigits; sequence /= 10) {
    digits[count++] = static_cast<char>('0' + sequence % 10);
  }
  return std::reverse_copy(digits, digits + count, at);
}

}  // namespace

Result<std::unique_ptr<SpoolWriter>> SpoolWriter::Create(base::Env* env, const std::string& directory,
                                                         const base::Uuid& session,
                                                         const SpoolLimits& limits) {
  std::string path_prefix = directory + "/" + base::ToString(session) + "-";
  if (path_prefix.size() + kMaxSequenceDigits + kOpenSuffix.size() >= Path::kMaxBytes) {
    return Status(StatusCode::kInvalid, "the spool directory's path is too long: choose a shorter one");
  }
  if (int error = env->CreateDirectories(directory)) {
    return base::IoError("cannot create the spool directory " + directory, error);
  }
  return std::unique_ptr<SpoolWriter>(new SpoolWriter(env, std::move(path_prefix), limits));
}

SpoolWriter::SpoolWriter(base::Env* env, std::string path_prefix, const SpoolLimits& limits)
    : env_(env),
      path_prefix_(std::move(path_prefix)),
      limits_(limits),
      record_(new char[sizeof(RecordHeader) + limits.record_bytes]) {}

SpoolWriter::~SpoolWriter() {
  Seal();
  if (fd_ < 0) return;
  env_->Remove(SegmentPath(kOpenSuffix).text);
  CloseSegment();
}

bool SpoolWriter::Append(RecordType type, std::string_view payload) {
  bool is_written = TryAppend(type, payload);
  ++(is_written ? records_written_ : records_dropped_);
  return is_written;
}

bool SpoolWriter::TryAppend(RecordType type, std::string_view payload) {
  if (payload.size() > limits_.record_bytes) return false;
  size_t record_bytes = sizeof(RecordHeader) + payload.size();
  if (size_bytes_ + record_bytes > limits_.segment_bytes) Seal();
  if (fd_ < 0 && !OpenSegment()) return false;

  Put(payload, record_.get() + sizeof(RecordHeader));
  FrameRecord(type, payload.size(), record_.get());
  if (env_->Append(fd_, record_.get(), record_bytes) == 0) {
    size_bytes_ += record_bytes;
    return true;
  }
  // Part of the record may be there. Where it cannot be cut off, it must stay the segment's last.
  if (env_->Truncate(fd_, size_bytes_) != 0) CloseSegment();
  return false;
}

bool SpoolWriter::OpenSegment() {
  // Under its own name a segment is always locked: else a reader that looks between the two system calls
  // would take it for a dead process's.
  Path unlocked = SegmentPath(kNewSuffix);
  if (env_->CreateLocked(unlocked.text, &fd_) != 0) {
    fd_ = -1;
    return false;
  }
  if (env_->Rename(unlocked.text, SegmentPath(kOpenSuffix).text) == 0) return true;
  env_->Remove(unlocked.text);
  CloseSegment();
  return false;
}

void SpoolWriter::CloseSegment() {
  env_->Close(fd_);
  fd_ = -1;
  size_bytes_ = 0;
  ++sequence_;
}

void SpoolWriter::Seal() {
  if (size_bytes_ == 0) return;
  // One that cannot be renamed is read all the same, once its lock is free.
  if (env_->Rename(SegmentPath(kOpenSuffix).text, SegmentPath(kSealedSuffix).text) == 0) {
    ++segments_sealed_;
    has_sealed_ = true;
    last_sealed_ = sequence_;
  }
  CloseSegment();
}

bool SpoolWriter::IsLastSealedLeft() const {
  return has_sealed_ && env_->Exists(SegmentPath(last_sealed_, kSealedSuffix).text);
}

void SpoolWriter::AbandonInForkedChild() {
  if (fd_ >= 0) CloseSegment();
}

SpoolWriter::Path SpoolWriter::SegmentPath(uint32_t sequence, std::string_view suffix) const {
  Path path;
  *Put(suffix, PutSequence(sequence, Put(path_prefix_, path.text))) = '\0';
  return path;
}

SpoolCounters SpoolWriter::counters() const {
  return {.records_written = records_written_,
          .records_dropped = records_dropped_,
          .segments_sealed = segments_sealed_};
}

}  // namespace lagwatch::report
