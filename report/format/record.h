// SPDX-License-Identifier: Apache-2.0
// A record of the spool or of a batch, still encoded: an OwnedRecord holds its bytes, a Record borrows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::report {

using pbf_tag_type = uint32_t;  // as protozero spells it

// A record's type in the spool and its field number in a Batch.
enum class RecordType : pbf_tag_type {
  kReport = 1,
  kHangEnd = 2,
  kRunEnd = 3,
  kFrameSlice = 4,
  kUsage = 5,
  kLosses = 6,
  kPacked = 7,  // of a batch only: records in the compact form
  kSealed = 8,  // one of the others, for the collector's eyes only
  kTrace = 9,
};

struct Record {
  RecordType type;
  std::string_view payload;
};

struct OwnedRecord {
  RecordType type;
  std::string payload;

  operator Record() const { return {type, payload}; }  // NOLINT: as std::string becomes a std::string_view
  bool operator==(const OwnedRecord&) const = default;
};

}  // namespace lagwatch::report
