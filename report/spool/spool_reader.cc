// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/uuid.h"
#include "report/spool/segment_format.h"
#include "report/spool/spool_directory.h"

namespace lagwatch::report {
namespace {

// Checksums that fail before the rest of a segment is given up: bounds the work on a file that is all magics.
constexpr size_t kMaxChecksumFailures = 64;

const std::string_view kMagicBytes(reinterpret_cast<const char*>(&kRecordMagic), sizeof kRecordMagic);

enum class Finding { kRecord, kNoRecord, kCutShort, kWrongChecksum };

Finding FindRecord(std::string_view bytes, RecordHeader* header) {
  if (bytes.size() < sizeof *header) {
    return kMagicBytes.starts_with(bytes.substr(0, kMagicBytes.size())) ? Finding::kCutShort
                                                                        : Finding::kNoRecord;
  }
  std::memcpy(header, bytes.data(), sizeof *header);
  bool is_plausible = header->magic == kRecordMagic && header->type >= 1 && header->type <= kMaxRecordType;
  if (!is_plausible) return Finding::kNoRecord;
  if (header->length_bytes > bytes.size() - sizeof *header) return Finding::kCutShort;
  bool is_whole = RecordCrc32c(*header, bytes.data() + sizeof *header) == header->crc32c;
  return is_whole ? Finding::kRecord : Finding::kWrongChecksum;
}

}  // namespace

std::string_view SegmentSuffix(std::string_view name) {
  bool has_session = name.size() > base::kUuidTextSize + 1 && name[base::kUuidTextSize] == '-' &&
                     base::TryParseUuid(name.substr(0, base::kUuidTextSize));
  if (!has_session) return {};
  name.remove_prefix(base::kUuidTextSize + 1);
  std::string_view suffix = name.substr(std::min(name.find_first_not_of("0123456789"), name.size()));
  if (suffix.size() == name.size()) return {};
  for (std::string_view known : {kNewSuffix, kOpenSuffix, kSealedSuffix, kRejectedSuffix}) {
    if (suffix == known) return known;
  }
  return {};
}

namespace {

// The id of the report that the record is, in the bytes of its message; empty for other records. Both
// encoders write the id first; in a sealed record, it follows the type of what is sealed.
std::string_view ReportIdOf(const OwnedRecord& record) {
  constexpr std::string_view kReportBegin("\x0a\x10", 2);
  constexpr std::string_view kSealedReportBegin("\x08\x01\x12\x10", 4);
  const std::string_view begin = record.type == RecordType::kReport   ? kReportBegin
                                 : record.type == RecordType::kSealed ? kSealedReportBegin
                                                                      : std::string_view();
  const std::string_view payload = record.payload;
  if (begin.empty() || !payload.starts_with(begin) || payload.size() < begin.size() + sizeof(base::Uuid))
    return {};
  return payload.substr(begin.size(), sizeof(base::Uuid));
}

// Adds a record; it replaces the one before it if both are the same report, which was written again.
void AddRecord(OwnedRecord record, Segment* segment) {
  const std::string_view id = ReportIdOf(record);
  if (!id.empty() && !segment->records.empty() && id == ReportIdOf(segment->records.back())) {
    segment->replaced_bytes += sizeof(RecordHeader) + segment->records.back().payload.size();
    segment->records.pop_back();
  }
  segment->records.push_back(std::move(record));
}

}  // namespace

Segment ParseSegment(std::string_view bytes) {
  Segment segment;
  size_t at = 0;
  while (at < bytes.size()) {
    RecordHeader header;
    Finding finding = FindRecord(bytes.substr(at), &header);
    if (finding == Finding::kRecord) {
      at += sizeof header;
      AddRecord({static_cast<RecordType>(header.type), std::string(bytes.substr(at, header.length_bytes))},
                &segment);
      at += header.length_bytes;
      continue;
    }
    segment.damaged_records += finding == Finding::kWrongChecksum ? 1 : 0;
    segment.cut_records += finding == Finding::kCutShort ? 1 : 0;
    const bool gives_up = segment.damaged_records == kMaxChecksumFailures;
    size_t next = gives_up ? bytes.size() : std::min(bytes.find(kMagicBytes, at + 1), bytes.size());
    segment.skipped_bytes += next - at;
    at = next;
  }
  return segment;
}

std::string DescribeSkipped(const Segment& segment) {
  if (segment.skipped_bytes == 0) return "nothing skipped";
  auto count_of = [](size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text = count_of(segment.skipped_bytes, "byte") + " skipped";
  const char* separator = ": ";
  if (segment.damaged_records > 0) {
    text += separator + count_of(segment.damaged_records, "wrong checksum");
    separator = ", ";
  }
  if (segment.cut_records > 0) text += separator + count_of(segment.cut_records, "unfinished record");
  return text;
}

Result<std::vector<std::string>> SpoolReader::List(Include include, size_t* refused) const {
  constexpr int kTries = 8;
  std::vector<std::string> names;
  size_t refused_count = 0;
  bool is_complete = false;
  for (int i = 0; i < kTries && !is_complete; ++i) {
    int error = env_->List(directory_, &names);
    if (error == ENOENT) return Status(StatusCode::kNotFound, "there is no spool directory " + directory_);
    if (error != 0) return base::IoError("cannot list the spool directory " + directory_, error);
    is_complete = KeepSegments(include, &names, &refused_count);
  }
  if (refused != nullptr) *refused = refused_count;
  return names;
}

bool SpoolReader::KeepSegments(Include include, std::vector<std::string>* names, size_t* refused) const {
  const std::optional<uint32_t> owner = OwnerOfDirectory(env_, directory_);
  bool is_complete = true;
  *refused = 0;
  std::erase_if(*names, [&](const std::string& name) {
    const std::string_view suffix = SegmentSuffix(name);
    if (suffix != kOpenSuffix && suffix != kSealedSuffix) return true;
    base::FileFacts facts;
    if (env_->Look(PathOf(name).c_str(), &facts) != 0) {
      is_complete &= suffix != kOpenSuffix;
      return true;
    }
    if (!IsOwnersFile(facts, owner)) {
      ++*refused;
      return true;
    }
    bool is_live = suffix == kOpenSuffix && env_->IsLocked(PathOf(name).c_str());
    return is_live && include == Include::kFinished;
  });
  return is_complete;
}

Result<Segment> SpoolReader::Read(const std::string& name) const {
  std::string bytes;
  base::FileFacts facts;
  int error = env_->ReadFile(PathOf(name), &bytes, &facts);
  if (error == ENOENT) return Status(StatusCode::kNotFound, "the segment " + name + " is gone");
  if (error == ELOOP || (error == 0 && !IsOwnersFile(facts, OwnerOfDirectory(env_, directory_))))
    return Status(StatusCode::kInvalid, PathOf(name) + " is a link or belongs to another user: remove it");
  if (error != 0) return base::IoError("cannot read " + PathOf(name), error);
  return ParseSegment(bytes);
}

Status SpoolReader::Remove(const std::string& name) const {
  int error = env_->Remove(PathOf(name).c_str());
  return error == 0 || error == ENOENT ? Status() : base::IoError("cannot remove " + PathOf(name), error);
}

std::string SpoolReader::PathOf(std::string_view name) const { return (directory_ + "/").append(name); }

}  // namespace lagwatch::report
