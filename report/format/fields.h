// SPDX-License-Identifier: Apache-2.0
// The numbers of those fields of lagwatch.proto that are written and read one by one; field_tables.h has
// those of all others. A test compares them with the schema by letting protoc read what the encoder writes.
// Part of the on-disk and wire format: do not renumber.
#pragma once

#include <cstdint>

#include "report/format/record.h"

namespace lagwatch::report {

enum class ReportField : pbf_tag_type {
  kTag = 13,
  kCpu = 18,
  kModules = 19,
  kStacks = 20,
  kSamples = 21,
  kExpensiveStack = 22,
  kThreads = 23,
  kSymbols = 24,
  kThreadsDropped = 25,
  kWaits = 26,
  kWaitOutcome = 27,
  kVerdict = 29,
  kDiscount = 30,
  kHistory = 31,
  kFacts = 32,
  kCause = 34,
};
enum class StackField : pbf_tag_type {
  kModule = 1,
  kOffset = 2,
  kFunctionOffset = 3,
  kCompleteness = 4,
  kGapAt = 5,
  kGapFrames = 6,
};
enum class FactField : pbf_tag_type { kName = 1, kNumber = 2, kText = 3 };
enum class UsageField : pbf_tag_type { kLoops = 8, kSlow = 9, kSuppressed = 10, kValues = 12 };
enum class SealedField : pbf_tag_type {
  kType = 1,
  kId = 2,
  kCause = 3,
  kPriority = 4,
  kEphemeralKey = 5,
  kNonce = 6,
  kSealed = 7,
  kSampleRatePpm = 9,
};

template <typename Field>
constexpr pbf_tag_type Number(Field field) {
  return static_cast<pbf_tag_type>(field);
}

}  // namespace lagwatch::report
