// SPDX-License-Identifier: Apache-2.0
// The limits of probe scripts and programs: the verifier refuses what is larger. Together they bound what one
// hit costs and what a program takes of memory. Context: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::probe {

inline constexpr size_t kMaxScriptBytes = 64 * 1024;
inline constexpr size_t kMaxProgramBytes = 1024 * 1024;
inline constexpr size_t kMaxMemoryBytes = 64 * 1024 * 1024;  // cells, stacks and records of one program

inline constexpr size_t kMaxProbes = 64;
inline constexpr size_t kMaxOperations = 256;  // of one probe
inline constexpr size_t kRegisters = 18;
inline constexpr size_t kMaxConstants = 1024;
inline constexpr size_t kMaxTexts = 1024;
inline constexpr size_t kMaxTextBytes = 240;   // of a text, of a pattern, and of a string that is read
inline constexpr size_t kMaxNameBytes = 1024;  // of a function's, a module's or a file's pattern
inline constexpr size_t kMaxCounters = 128;

inline constexpr size_t kMaxAggregates = 64;
inline constexpr size_t kMaxKeys = 4;        // parts of a compound key
inline constexpr size_t kMaxKeyBytes = 256;  // all parts together
inline constexpr uint32_t kMaxCells = 65'536;
inline constexpr uint32_t kMaxShards = 64;
inline constexpr uint32_t kMaxLinearBuckets = 256;

inline constexpr size_t kMaxPrints = 64;
inline constexpr size_t kMaxFields = 12;          // of one record
inline constexpr size_t kMaxRecordBytes = 1'024;  // its fields
inline constexpr uint32_t kMaxRecords = 16'384;   // waiting for the console
inline constexpr uint32_t kMaxOutputPerSecond = 100'000;
inline constexpr size_t kMaxRequests = 64;
inline constexpr size_t kMaxStackFrames = 64;
inline constexpr uint32_t kMaxStacks = 16'384;  // different ones
inline constexpr uint64_t kMaxRequestNs = 3'600'000'000'000;
inline constexpr uint64_t kMinTimerNs = 10'000'000;

inline constexpr uint32_t kMaxBudgetPpm = 100'000;  // of a thread's time: 10 %
inline constexpr uint32_t kMaxHitsPerSecond = 10'000'000;
inline constexpr uint32_t kMaxHitCostNs = 100'000;  // the worst case of one hit, as the verifier computes it

}  // namespace lagwatch::probe
