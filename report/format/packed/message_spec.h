// SPDX-License-Identifier: Apache-2.0
// The fields of the records that a packed batch takes apart, and how each is compressed. Part of the wire
// format: the order of the fields is the order of the columns. docs/report_format.md, "Packed batch",
// describes it for people. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "report/format/fields.h"

namespace lagwatch::report::packed {

enum class Shape : uint8_t {
  kNumber,    // a varint; absent when 0
  kText,      // text or bytes; absent when empty
  kFixed64,   // absent when 0
  kId,        // 16 bytes
  kNumbers,   // packed varints
  kMessage,   // a single one, or none
  kMessages,  // a list
};

// The value that a number is relative to.
enum class Model : uint8_t {
  kAsIs,
  kDelta,     // the number before it in the column
  kKeyed,     // the last one beside which `peer` was the same
  kAges,      // in a list of ever smaller ones: the one before it, less `peer`
  kEvenAges,  // likewise, less what it last was less by
  kIdTime,    // the time of the message's first id, less `peer`, which is in ns
};

struct MessageSpec;

struct FieldSpec {
  pbf_tag_type number;  // 0: not in the message itself; the tables have it
  Shape shape;
  Model model = Model::kAsIs;
  size_t peer = 0;  // place in MessageSpec::fields, before this one's
  const MessageSpec* message = nullptr;
  // Of its values or, of a list, how many there are in each message; the elements of packed numbers are
  // the next column.
  size_t column = 0;
};

// Each belongs to one place of one record type.
struct MessageSpec {
  std::vector<FieldSpec> fields;
  size_t unknown_column = 0;  // of the fields that are not among these
};

// Columns of no message. Of kRecordTypes each is twice the record's type, and 1 more when it is in
// kPlainPayloads: carried as it is.
enum BatchColumn : size_t { kTextLengths, kIdTimes, kRecordTypes, kPlainPayloads, kBatchColumnCount };

// The columns of all messages, in the notation of docs/report_format.md: one message a line.
extern const std::string_view kColumnsText;

// Columns have numbers below this, in every version. The numbers are not part of the wire format, only the
// order of the fields.
size_t ColumnCount();

// The message of a record of this type in a version of the format; null when such records are carried as they
// are.
const MessageSpec* SpecOf(RecordType type, uint32_t version);
// All types that have one, in the order of their columns.
std::span<const RecordType> PackedTypes();

// Places in a report's fields that the tables need.
namespace report_place {
inline constexpr size_t kModules = 0;
inline constexpr size_t kStacks = 1;
inline constexpr size_t kSymbols = 2;
inline constexpr size_t kTableModules = 3;
inline constexpr size_t kHasTableSymbols = 4;
}  // namespace report_place
namespace module_place {
inline constexpr size_t kPath = 0;
inline constexpr size_t kBuildId = 1;
inline constexpr size_t kLoadBias = 2;
}  // namespace module_place
namespace stack_place {
inline constexpr size_t kModule = 0;
inline constexpr size_t kOffset = 1;
inline constexpr size_t kFunctionOffset = 2;
inline constexpr size_t kNode = 3;
}  // namespace stack_place
namespace symbol_place {
inline constexpr size_t kModule = 0;
inline constexpr size_t kFunctionOffset = 1;
inline constexpr size_t kName = 2;
}  // namespace symbol_place

// The tables that all reports of a batch share, the same in every version; see frame_tables.h.
const MessageSpec& TablesSpec();
namespace tables_place {
inline constexpr size_t kModules = 0;
inline constexpr size_t kFunctions = 1;
inline constexpr size_t kFrames = 2;
inline constexpr size_t kNodes = 3;
}  // namespace tables_place
namespace function_place {
inline constexpr size_t kModule = 0;
inline constexpr size_t kIsStartUnknown = 1;
inline constexpr size_t kStart = 2;
inline constexpr size_t kName = 3;
}  // namespace function_place
namespace frame_place {
inline constexpr size_t kFunction = 0;
inline constexpr size_t kDistance = 1;
}  // namespace frame_place
namespace node_place {
inline constexpr size_t kParent = 0;
inline constexpr size_t kFrame = 1;
}  // namespace node_place

}  // namespace lagwatch::report::packed
