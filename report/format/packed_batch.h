// SPDX-License-Identifier: Apache-2.0
// The compact form of a batch: common parts of its records are stored once, and numbers of one kind are side
// by side, as differences, so that gzip compresses them well. Nothing is lost: an unpacked record decodes to
// the same as the packed one, also fields that only a newer version knows. docs/report_format.md describes
// the bytes. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "report/format/report.h"

namespace lagwatch::report {

// The versions of the form that are read here are 1 to this one.
inline constexpr uint32_t kPackedVersion = 2;

// An encoded lagwatch.PackedBatch: a record of a batch of type kPacked. None of `records` may be of
// that type itself. A collector may be too old for the newest version; it says so in its answers.
std::string PackBatch(std::span<const Record> records, uint32_t version = kPackedVersion);

// A small hostile body must not unfold into more than these, all records of a body together. Clients send at
// most 200 records, and about 1 MiB, at once.
struct UnpackLimits {
  size_t record_count = 2000;       // plain ones, too
  size_t payload_bytes = 8 << 20;   // of packed ones
  size_t number_count = 1'000'000;  // that the packed form holds, zeros too
};

// Errors: kInvalid, with what is wrong in words; also for what is over a limit, or packed by a newer version.
base::Result<std::vector<OwnedRecord>> UnpackBatch(std::string_view packed, const UnpackLimits& limits = {});

// All records of an encoded lagwatch.Batch, plain and packed ones, in their order. Errors: as
// UnpackBatch and SplitBatch.
base::Result<std::vector<OwnedRecord>> ReadBatch(std::string_view batch, const UnpackLimits& limits = {});

}  // namespace lagwatch::report
