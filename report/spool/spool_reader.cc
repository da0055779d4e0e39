// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/uuid.h"
#include "report/spool/segment_format.h"

namespace lagwatch::report {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

// Checksums that fail before the rest of a segment is given up: bounds the work on a file that is all magics.
constexpr int kMaxChecksumFailures = 64;

enum class Finding { kRecord, kNoRecord, kWrongChecksum };

Finding FindRecord(std::string_view bytes, RecordHeader* header) {
  if (bytes.size() < sizeof *header) return Finding::kNoRecord;
  std::memcpy(header, bytes.data(), sizeof *header);
  bool is_plausible = header->magic == kRecordMagic && header->type >= 1 && header->type <= kMaxRecordType &&
                      header->length_bytes <= bytes.size() - sizeof *header;
  if (!is_plausible) return Finding::kNoRecord;
  bool is_whole = RecordCrc32c(*header, bytes.data() + sizeof *header) == header->crc32c;
  return is_whole ? Finding::kRecord : Finding::kWrongChecksum;
}

bool IsSegmentName(std::string_view name) {
  bool has_session = name.size() > base::kUuidTextSize + 1 && name[base::kUuidTextSize] == '-' &&
                     base::TryParseUuid(name.substr(0, base::kUuidTextSize));
  if (!has_session) return false;
  name.remove_prefix(base::kUuidTextSize + 1);
  std::string_view suffix = name.substr(std::min(name.find_first_not_of("0123456789"), name.size()));
  return suffix.size() < name.size() && (suffix == kOpenSuffix || suffix == kSealedSuffix);
}

}  // namespace

Segment ParseSegment(std::string_view bytes) {
  const std::string_view magic(reinterpret_cast<const char*>(&kRecordMagic), sizeof kRecordMagic);
  Segment segment;
  int failures = 0;
  size_t at = 0;
  while (at < bytes.size()) {
    RecordHeader header;
    Finding finding = FindRecord(bytes.substr(at), &header);
    if (finding == Finding::kRecord) {
      at += sizeof header;
      segment.records.push_back(
          {static_cast<RecordType>(header.type), std::string(bytes.substr(at, header.length_bytes))});
      at += header.length_bytes;
      continue;
    }
    bool gives_up = finding == Finding::kWrongChecksum && ++failures == kMaxChecksumFailures;
    size_t next = gives_up ? bytes.size() : std::min(bytes.find(magic, at + 1), bytes.size());
    segment.skipped_bytes += next - at;
    at = next;
  }
  return segment;
}

Result<std::vector<std::string>> SpoolReader::List(Include include) const {
  std::vector<std::string> names;
  int error = env_->List(directory_, &names);
  if (error == ENOENT) return Status(StatusCode::kNotFound, "there is no spool directory " + directory_);
  if (error != 0) return base::IoError("cannot list the spool directory " + directory_, error);
  std::erase_if(names, [&](const std::string& name) {
    if (!IsSegmentName(name)) return true;
    bool is_live = name.ends_with(kOpenSuffix) && env_->IsLocked(PathOf(name).c_str());
    return is_live && include == Include::kFinished;
  });
  return names;
}

Result<Segment> SpoolReader::Read(const std::string& name) const {
  std::string bytes;
  int error = env_->ReadAll(PathOf(name), &bytes);
  if (error == ENOENT) return Status(StatusCode::kNotFound, "the segment " + name + " is gone");
  if (error != 0) return base::IoError("cannot read " + PathOf(name), error);
  return ParseSegment(bytes);
}

Status SpoolReader::Remove(const std::string& name) const {
  int error = env_->Remove(PathOf(name).c_str());
  return error == 0 || error == ENOENT ? Status() : base::IoError("cannot remove " + PathOf(name), error);
}

std::string SpoolReader::PathOf(std::string_view name) const { return (directory_ + "/").append(name); }

}  // namespace lagwatch::report
