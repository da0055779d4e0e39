// SPDX-License-Identifier: Apache-2.0
// The turns of a loop that only hooks see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/tools/trace/recorded.h"
#include "trace/model/functions.h"
#include "trace/model/slices.h"

namespace lagwatch::tools {
namespace {

std::vector<int64_t> DurationsOf(const trace::Trace& trace, const std::string& function) {
  std::vector<int64_t> durations_ns;
  for (const trace::Track& track : trace::BuildTracks(trace)) {
    for (const trace::Slice& slice : track.slices)
      if (trace::DisplayName(trace, trace.frames[slice.frame]) == function)
        durations_ns.push_back(slice.end_ns - slice.begin_ns);
  }
  return durations_ns;
}

TEST(RecordedTurns, AreSlicesOfTheirOwnInALoopThatGoesOn) {
  constexpr size_t kTurns = 200;
  const testing::TraceDirectory directory;
  testing::Process recorder(
      directory.RecordCommand({}, {LAGWATCH_TURNING, std::to_string(kTurns).c_str(), "8"}));
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Errors();
  const int64_t longest_ns = std::atoll(recorder.Output().c_str());
  const trace::Trace trace = directory.Read();

  const std::vector<int64_t> turns_ns = DurationsOf(trace, "TurningHandle");
  EXPECT_GT(turns_ns.size(), kTurns * 8 / 10);
  ASSERT_FALSE(turns_ns.empty());
  EXPECT_LE(std::ranges::max(turns_ns), longest_ns + testing::kMs);
  EXPECT_LT(DurationsOf(trace, "TurningLoop").size(), kTurns / 2);
}

}  // namespace
}  // namespace lagwatch::tools
