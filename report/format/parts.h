// SPDX-License-Identifier: Apache-2.0
// The parts of a record that encoder and decoder share. A View borrows its texts for a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "policies/frame_levels.h"
#include "policies/hang_parts.h"
#include "policies/verdict.h"
#include "stack/frames/frame.h"

namespace lagwatch::report {

using policies::Completeness;
using policies::HangKind;
using policies::HangLevel;
using policies::kNoStack;
using policies::LockKind;
using policies::WaitOutcome;
using policies::WaitsFor;
using stack::Frame;
using stack::kNoModule;

using ReportHeader = policies::HangHeader<std::string_view>;
using Thread = policies::ThreadOf<std::string>;
using ThreadView = policies::ThreadOf<std::string_view>;
using Wait = policies::WaitOf<std::string>;
using WaitView = policies::WaitOf<std::string_view>;
using PastDispatch = policies::PastDispatchOf<std::string>;
using PastDispatchView = policies::PastDispatchOf<std::string_view>;

struct Sample {
  int64_t age_ns = 0;
  uint32_t stack = 0;            // index into the report's stacks
  policies::ThreadUse use = {};  // since the sample before
  // Of HangKind::kSlow: the calls that the sample stands for, and their time in the function itself.
  int64_t wall_ns = 0;
  uint64_t calls = 0;
};

// The frames of one loop in one scene, over some seconds.
template <typename Text>
struct FrameSliceOf {
  base::Uuid id = {};
  base::Uuid session_id = {};
  Text app = {};
  Text app_version = {};
  Text user = {};
  Text loop = {};
  Text scene = {};
  int64_t begin_wall_ms = 0;
  int64_t duration_ns = 0;
  int64_t refresh_interval_ns = 0;
  policies::FrameTotals frames = {};
  uint32_t sample_rate_ppm = 0;  // as in Report
};
using FrameSlice = FrameSliceOf<std::string>;
using FrameSliceView = FrameSliceOf<std::string_view>;

}  // namespace lagwatch::report
