// SPDX-License-Identifier: Apache-2.0
// A directory of run records, and what is reported of the runs that have ended.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sdk/run/exit_analysis.h"
#include "tests/sdk/run/run_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {

class EndedRunsTest : public ::testing::Test {
 protected:
  // Like this process's, but over.
  static RunFacts DeadRun() {
    RunFacts facts = testing::SomeFacts();
    facts.pid = testing::DeadPid();
    return facts;
  }
  void Leave(const RunFacts& facts, const testing::PageParts& parts) const {
    testing::WriteContent(testing::RunPath(directory_.path(), facts), parts.Bytes());
  }
  void Leave(const RunFacts& facts) const { Leave(facts, testing::PageParts(facts)); }
  // Each began one millisecond after the one before, at 0 ms.
  void LeaveDeadRuns(int count) const {
    RunFacts facts = DeadRun();
    for (int i = 0; i < count; ++i) {
      facts.session_id = base::CreateUuidV7(1'700'000'000'000 + i);
      facts.start_wall_ms = i;
      Leave(facts);
    }
  }
  bool IsThere(const RunFacts& facts) const {
    return std::filesystem::exists(testing::RunPath(directory_.path(), facts));
  }
  RunRecord PageOf(const RunFacts& facts) const {
    RunRecord record;
    EXPECT_EQ(ParseRunRecord(testing::FileContent(testing::RunPath(directory_.path(), facts)), &record),
              RunFile::kRecord);
    return record;
  }
  std::vector<EndedRun> Told(bool is_taken = true) const {
    std::vector<EndedRun> runs;
    TakeEndedRuns(directory_.path(), now_, [&](const EndedRun& run) {
      runs.push_back(run);
      return is_taken;
    });
    return runs;
  }
  // Of the only run reported.
  policies::ExitReason ToldReason() const {
    std::vector<EndedRun> runs = Told();
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? policies::ExitReason::kUnknown : runs[0].reason;
  }

  testing::ScopedTempDirectory directory_;
  RunFacts now_ = testing::SomeFacts();
};

}  // namespace lagwatch::sdk
