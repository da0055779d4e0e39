// SPDX-License-Identifier: Apache-2.0
// The bytes and the file names of a spool, drawn in docs/spool_format.md. Part of the on-disk format: nothing
// here ever changes its meaning. Context: watchdog; pure.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"
#include "report/format/fields.h"

namespace lagwatch::report {

static_assert(std::endian::native == std::endian::little, "segments are little-endian");

// Stands before each record's payload.
struct RecordHeader {
  uint32_t magic;
  uint32_t type;  // a RecordType; other types from 1 to kMaxRecordType are newer versions'
  uint32_t length_bytes;
  uint32_t crc32c;  // of type, length_bytes and payload
};
static_assert(sizeof(RecordHeader) == 16);

inline constexpr uint32_t kRecordMagic = 0x3153574c;  // "LWS1"
inline constexpr uint32_t kMaxRecordType = 999;

// The size of `payload` is in `header`.
inline uint32_t RecordCrc32c(const RecordHeader& header, const char* payload) {
  uint32_t seed = base::Crc32c(&header.type, sizeof header.type + sizeof header.length_bytes);
  return base::Crc32c(payload, header.length_bytes, seed);
}

inline RecordHeader MakeRecordHeader(RecordType type, std::string_view payload) {
  RecordHeader header{kRecordMagic, Number(type), static_cast<uint32_t>(payload.size()), 0};
  header.crc32c = RecordCrc32c(header, payload.data());
  return header;
}

// Writes the header that belongs before the `payload_bytes` at `record + sizeof(RecordHeader)`.
inline void FrameRecord(RecordType type, size_t payload_bytes, char* record) {
  const RecordHeader header = MakeRecordHeader(type, {record + sizeof(RecordHeader), payload_bytes});
  std::memcpy(record, &header, sizeof header);
}

// The suffixes of a segment's file name.
inline constexpr std::string_view kNewSuffix = ".new";            // not yet locked; empty
inline constexpr std::string_view kOpenSuffix = ".open";          // being written by the holder of its lock
inline constexpr std::string_view kSealedSuffix = ".seg";         // complete
inline constexpr std::string_view kRejectedSuffix = ".rejected";  // what a collector refused, for people

}  // namespace lagwatch::report
