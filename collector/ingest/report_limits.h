// SPDX-License-Identifier: Apache-2.0
// Limits the size of a report in memory, and when it is shown. Stacks are stored once and referred to often,
// so a small hostile report could otherwise expand to gigabytes of JSON. Context: background; pure.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "base/status.h"
#include "report/format/losses.h"
#include "report/format/report.h"

namespace lagwatch::collector {

inline constexpr size_t kMaxShownFrames = 135'000;    // of all stacks: 512 threads of 256 frames, and some
inline constexpr size_t kMaxModules = 8192;           // four times what a client knows
inline constexpr size_t kMaxStacks = 8192;            // eight times what a client writes
inline constexpr size_t kMaxSymbols = 50'000;         // a few hundred are usual
inline constexpr size_t kMaxHistory = 1000;           // five times what a client writes
inline constexpr size_t kMaxFacts = 500;              // likewise
inline constexpr size_t kMaxUsageEntries = 1000;      // loops, tags and values of a usage record
inline constexpr size_t kMaxLosses = 1000;            // of a record of losses
inline constexpr size_t kMaxUnknownBytes = 64 << 10;  // of a record of a type that is not known here
inline constexpr size_t kMaxTextBytes = 1024;         // of each text of the header

// Errors of all: kInvalid, with the limit that the record is over.
base::Status CheckLimits(const report::Report& report);
inline base::Status CheckLimits(const report::HangEnd&) { return {}; }
base::Status CheckLimits(const report::RunEnd& end);
base::Status CheckLimits(const report::FrameSlice& slice);
base::Status CheckLimits(const report::Usage& usage);
base::Status CheckLimits(const report::Losses& losses);
// `has` is the beginning of the error: "the trace has".
base::Status CheckTexts(const char* has, std::initializer_list<std::string_view> texts);

}  // namespace lagwatch::collector
