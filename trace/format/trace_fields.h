// SPDX-License-Identifier: Apache-2.0
// The field numbers of trace.proto.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

inline constexpr uint32_t kTraceVersion = 1;

enum class TraceMessageField : uint32_t {
  kVersion = 1,
  kPid = 2,
  kProcessName = 3,
  kBeginNs = 4,
  kEndNs = 5,
  kWallMinusMonoNs = 6,
  kBootMinusMonoNs = 7,
  kSampleIntervalNs = 8,
  kTexts = 9,
  kModules = 10,
  kFrames = 11,
  kNodes = 12,
  kThreads = 13,
  kLosses = 14,
};
enum class TraceModuleField : uint32_t { kPath = 1, kBuildId = 2, kLoadBias = 3 };
enum class FramesField : uint32_t {
  kModule = 1,
  kOffset = 2,
  kFunctionOffset = 3,
  kName = 4,
  kFile = 5,
  kLine = 6,
  kId = 7,
};
enum class NodesField : uint32_t { kParent = 1, kFrame = 2 };
enum class TraceThreadField : uint32_t { kTid = 1, kName = 2, kRuns = 3, kCalls = 4, kDispatches = 5 };
enum class RunsField : uint32_t {
  kBegin = 1,
  kDuration = 2,
  kCount = 3,
  kStack = 4,
  kDispatch = 5,
  kKind = 6,
  kCall = 7,
  kObject = 8,
  kTotals = 9,
};
enum class CallsField : uint32_t { kTime = 1, kFrame = 2 };
enum class DispatchesField : uint32_t { kId = 1, kBegin = 2, kDuration = 3, kTag = 4 };
enum class LossField : uint32_t { kWhat = 1, kCount = 2, kRemedy = 3 };

// In TraceRuns.kind, besides the RunKind.
inline constexpr uint32_t kRunKindMask = 3;
inline constexpr uint32_t kRunIsIncomplete = 4;
inline constexpr uint32_t kRunHasTotals = 8;
inline constexpr uint32_t kRunIsForAll = 16;
inline constexpr uint32_t kRunIsRunning = 32;

}  // namespace lagwatch::trace
