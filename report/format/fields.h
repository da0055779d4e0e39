// SPDX-License-Identifier: Apache-2.0
// The field numbers of lagwatch.proto, shared by encoder and decoder. A test compares them with the schema by
// letting protoc read what the encoder writes. Part of the on-disk and wire format: do not renumber.
#pragma once

#include <cstdint>

#include "report/format/record.h"

namespace lagwatch::report {

enum class ReportField : pbf_tag_type {
  kId = 1,
  kSessionId = 2,
  kHangId = 3,
  kOrdinal = 4,
  kApp = 5,
  kAppVersion = 6,
  kUser = 7,
  kOs = 8,
  kMachine = 9,
  kPid = 10,
  kTid = 11,
  kLoop = 12,
  kTag = 13,
  kKind = 14,
  kThresholdMs = 15,
  kStartWallMs = 16,
  kElapsedNs = 17,
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
  kLevel = 28,
  kVerdict = 29,
  kDiscount = 30,
  kHistory = 31,
  kFacts = 32,
  kSampleRatePpm = 33,
  kCause = 34,
  kDistribution = 35,
};
enum class ModuleField : pbf_tag_type { kPath = 1, kBuildId = 2, kLoadBias = 3 };
enum class StackField : pbf_tag_type {
  kModule = 1,
  kOffset = 2,
  kFunctionOffset = 3,
  kCompleteness = 4,
  kGapAt = 5,
  kGapFrames = 6,
};
enum class VerdictField : pbf_tag_type {
  kWord = 1,
  kWallNs = 2,
  kMinorFaults = 13,
  kMajorFaults = 14,
  kVoluntarySwitches = 15,
  kInvoluntarySwitches = 16,
  kCpuNs = 17,
  // The others are those of policies::kTimeShares.
};
enum class DiscountField : pbf_tag_type { kSuspendedNs = 1, kStoppedNs = 2, kLateNs = 3, kDebuggerPid = 4 };
enum class PastDispatchField : pbf_tag_type {
  kTag = 1,
  kAgeNs = 2,
  kWallNs = 3,
  kCpuNs = 4,
  kQueueWaitNs = 5,
};
enum class FactField : pbf_tag_type { kName = 1, kNumber = 2, kText = 3 };
enum class SampleField : pbf_tag_type {
  kAgeNs = 1,
  kStack = 2,
  kUsedCpuNs = 3,
  kUsedMinorFaults = 4,
  kUsedMajorFaults = 5,
  kUsedVoluntarySwitches = 6,
  kUsedInvoluntarySwitches = 7,
  kWallNs = 8,
  kCalls = 9,
};
enum class ThreadField : pbf_tag_type {
  kTid = 1,
  kName = 2,
  kState = 3,
  kStack = 4,
  kCpuNs = 5,
  kWaitChannel = 6,
  kSyscall = 7,
};
enum class WaitField : pbf_tag_type {
  kTid = 1,
  kStack = 2,
  kLock = 3,
  kKind = 4,
  kWaitsFor = 5,
  kHasTimeout = 6,
  kOwnerTid = 7,
  kOwnerName = 8,
  kOwnerStack = 9,
  kPid = 10,
  kOwnerPid = 11,
  kOwnerProcess = 12,
  kOwnerState = 13,
  kIsOwnerIdle = 14,
  kOwnerSessionId = 15,
};
enum class CpuField : pbf_tag_type { kWindowNs = 1, kThreadNs = 2, kProcessNs = 3 };
enum class SymbolField : pbf_tag_type { kModule = 1, kFunctionOffset = 2, kName = 3 };
enum class HangEndField : pbf_tag_type { kReportId = 1, kDurationNs = 2 };
enum class RunEndField : pbf_tag_type {
  kSessionId = 1,
  kReason = 2,
  kSignal = 3,
  kReportId = 4,
  kHangNs = 5,
  kLoop = 6,
  kRunStartWallMs = 7,
  kLastSeenWallMs = 8,
  kScene = 9,
  kApp = 10,
  kAppVersion = 11,
  kUser = 12,
  kSampleRatePpm = 13,
};
enum class FrameSliceField : pbf_tag_type {
  kId = 1,
  kSessionId = 2,
  kApp = 3,
  kAppVersion = 4,
  kUser = 5,
  kLoop = 6,
  kScene = 7,
  kBeginWallMs = 8,
  kDurationNs = 9,
  kRefreshIntervalNs = 10,
  kFrameCount = 11,
  kDropped = 12,
  kFramesByLevel = 13,
  kNsByStage = 14,
  kSampleRatePpm = 15,
};
enum class UsageField : pbf_tag_type {
  kId = 1,
  kSessionId = 2,
  kApp = 3,
  kAppVersion = 4,
  kUser = 5,
  kBeginWallMs = 6,
  kEndWallMs = 7,
  kLoops = 8,
  kSlow = 9,
  kSuppressed = 10,
  kSampleRatePpm = 11,
};
enum class LoopUsageField : pbf_tag_type {
  kLoop = 1,
  kWatchedNs = 2,
  kDispatches = 3,
  kUntimedDispatches = 4,
  kHangs = 5,
  kHangNs = 6,
  kDurations = 7,
  kBackgroundWatchedNs = 8,
  kBackgroundHangs = 9,
  kBackgroundHangNs = 10,
};
enum class SlowTagField : pbf_tag_type {
  kLoop = 1,
  kTag = 2,
  kCount = 3,
  kTotalNs = 4,
  kLongestNs = 5,
  kDurations = 6,
};
enum class SuppressedField : pbf_tag_type { kReason = 1, kCount = 2 };
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
enum class TraceRecordField : pbf_tag_type {
  kId = 1,
  kSessionId = 2,
  kReportId = 3,
  kHangId = 4,
  kApp = 5,
  kAppVersion = 6,
  kUser = 7,
  kBeginWallMs = 8,
  kDurationNs = 9,
  kReason = 10,
  kTrace = 11,
  kSampleRatePpm = 12,
  kCause = 13,
};
enum class LossesField : pbf_tag_type {
  kId = 1,
  kApp = 2,
  kAppVersion = 3,
  kUser = 4,
  kBeginWallMs = 5,
  kEndWallMs = 6,
  kLosses = 7,
};
enum class LossField : pbf_tag_type { kReason = 1, kCause = 2, kCount = 3, kSampleRatePpm = 4 };

template <typename Field>
constexpr pbf_tag_type Number(Field field) {
  return static_cast<pbf_tag_type>(field);
}

}  // namespace lagwatch::report
