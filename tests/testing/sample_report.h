// SPDX-License-Identifier: Apache-2.0
// Valid reports for tests, encoded the way clients encode them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "report/format/report.h"
#include "report/format/report_encoder.h"

namespace lagwatch::testing {

// A wait and the stacks of its thread and its owner; innermost first, none when empty.
struct SampleWait {
  report::WaitView fields;
  std::vector<std::string> stack = {};
  std::vector<std::string> owner_stack = {};
};

// Describes a report in a few words. Every function of a stack gets a place of its own in one module, and its
// name as a symbol unless it is of the form "@0x1f", which is a place without a name.
struct SampleReport {
  // As a client fills it; the id and the hang's id are new ones unless set.
  report::ReportHeader header = DefaultHeader();
  std::string module_path = "/usr/bin/editor";
  std::vector<std::string> stack = {"Leaf", "Caller", "Loop", "main"};  // of the hang; innermost first
  std::vector<std::vector<std::string>> samples = {};  // oldest first; `stack` once when empty
  std::vector<int64_t> sample_cpu_ns = {};             // of each sample; 0 where there is none
  std::vector<report::Sample> sample_costs = {};       // likewise
  std::vector<std::pair<std::string, std::vector<std::string>>> threads =
      {};  // name and stack, after the watched one
  std::vector<SampleWait> waits = {};
  policies::Verdict verdict = {};
  policies::DiscountedTime discounted = {};
  std::vector<report::PastDispatchView> history = {};
  report::WaitOutcome wait_outcome = report::WaitOutcome::kNone;
  std::vector<report::Fact> facts = {};  // after "fds" and "scene"
  size_t room_bytes = 1 << 20;           // that it is encoded in

  // An encoded lagwatch.Report.
  std::string Encode() const;

  static report::ReportHeader DefaultHeader();
};

// An encoded lagwatch.HangEnd.
std::string EncodeEnd(const base::Uuid& report_id, int64_t duration_ns, bool is_blamed = false);

// An encoded lagwatch.FrameSlice.
std::string EncodeFrames(const report::FrameSliceView& slice);
// An encoded lagwatch.Usage.
std::string EncodeUsage(const report::Usage& usage);

// An encoded lagwatch.Batch of reports and ends.
std::string EncodeBatch(const std::vector<std::string>& reports, const std::vector<std::string>& ends = {});

}  // namespace lagwatch::testing
