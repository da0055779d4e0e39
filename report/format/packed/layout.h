// SPDX-License-Identifier: Apache-2.0
// The layout of a PackedBatch. Part of the wire format.
#pragma once

#include "report/format/packed/message_spec.h"

namespace lagwatch::report::packed {

enum class PackedBatchField : pbf_tag_type { kVersion = 1, kTexts = 2, kIds = 3, kColumns = 4 };

// An id: its first bytes, a number of milliseconds in a UUIDv7, are among the kIdTimes; the rest is in `ids`.
inline constexpr size_t kIdTimeBytes = 6;
inline constexpr size_t kIdRestBytes = 10;

// In an id's column: no id; the one that this column had before; the one that was new last; a new one; else
// this and its place among all.
enum IdCode : uint64_t { kNoId = 0, kSameId = 1, kNewestId = 2, kNewId = 3, kFirstIdPlace = 4 };

}  // namespace lagwatch::report::packed
