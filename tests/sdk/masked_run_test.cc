// SPDX-License-Identifier: Apache-2.0
// The record of a run whose reports are sealed: what it says to others, and what to the program's next start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sdk/run/exit_analysis.h"
#include "sdk/run/run_facts.h"
#include "sdk/run/run_record.h"
#include "sdk/run/run_writer.h"
#include "tests/sdk/run/run_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const base::Uuid kMaskedHang = base::CreateUuidV7(1'700'000'000'000);

class MaskedRunTest : public ::testing::Test {
 protected:
  // Of a run that was killed in a hang.
  RunFacts LeaveKilledRun() {
    RunFacts facts = testing::SomeFacts();
    facts.is_masked = true;
    testing::InKilledChild([&] {
      facts.pid = static_cast<uint32_t>(getpid());
      facts.start_ticks = *ProcessStartTicks(facts.pid);
      TextCell scene;
      scene.Set("secret-scene");
      auto writer = std::move(RunWriter::Create(directory_.path(), facts, &scene).value());
      RunUsage usage{};
      usage.id = kMaskedHang;
      usage.watched_ns = 7 * base::kNsPerSecond;
      std::string("secret-loop").copy(usage.loop, sizeof usage.loop);
      writer->NoteUsage(usage);
      writer->HangBegan(kMaskedHang, "secret-loop", 3 * base::kNsPerSecond);
      writer->Refresh();
      static_cast<void>(writer.release());
    });
    return facts;
  }
  EndedRun ToldTo(const RunFacts& now) const {
    std::vector<EndedRun> runs;
    TakeEndedRuns(directory_.path(), now, [&](const EndedRun& run) {
      runs.push_back(run);
      return false;
    });
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? EndedRun() : runs[0];
  }

  testing::ScopedTempDirectory directory_;
};

TEST_F(MaskedRunTest, NoTextOfItCanBeRead) {
  const RunFacts facts = LeaveKilledRun();
  const std::string bytes = testing::FileContent(testing::RunPath(directory_.path(), facts));
  ASSERT_EQ(bytes.size(), RunPage::kBytes);
  for (const std::string& text : {facts.app, facts.app_version, facts.user, facts.program, facts.build_id,
                                  facts.oom_group_path, std::string("secret")}) {
    if (text.empty()) continue;
    EXPECT_THAT(bytes, Not(HasSubstr(text)));
  }
}

TEST_F(MaskedRunTest, TheNextStartOfTheProgramKnowsItAgain) {
  const RunFacts facts = LeaveKilledRun();
  const EndedRun run = ToldTo(testing::SomeFacts());
  EXPECT_TRUE(run.is_of_same_program);
  EXPECT_EQ(run.reason, policies::ExitReason::kKilledInHang);
  EXPECT_EQ(run.record.run.build_id, facts.build_id);
  EXPECT_EQ(run.record.run.oom_group_path, facts.oom_group_path);
  EXPECT_EQ(run.record.usage_id, kMaskedHang);
  EXPECT_EQ(run.record.usage_loop, "");
  const report::RunEnd end = run.ToRunEnd();
  EXPECT_EQ(end.report_id, kMaskedHang);
  EXPECT_GE(end.hang_ns, 3'000'000'000u);
  EXPECT_EQ(end.app, "editor");
  EXPECT_EQ(end.app_version, "2.3.1");
  EXPECT_EQ(end.user + end.loop + end.scene, "");
}

TEST_F(MaskedRunTest, AnotherProgramTellsItWithoutItsNames) {
  const RunFacts facts = LeaveKilledRun();
  RunFacts other = testing::SomeFacts();
  other.app = "player";
  other.app_version = "7";
  other.program = "player";
  const EndedRun run = ToldTo(other);
  EXPECT_FALSE(run.is_of_same_program);
  const report::RunEnd end = run.ToRunEnd();
  EXPECT_EQ(end.session_id, facts.session_id);
  EXPECT_EQ(end.reason, policies::ExitReason::kKilledInHang);
  EXPECT_EQ(end.app + end.app_version + end.user, "");
}

TEST_F(MaskedRunTest, AnotherBuildIsSeenToBeAnother) {
  RunFacts now = testing::SomeFacts();
  RunFacts then = now;
  then.build_id = "the build before";
  RunFacts read = MaskRun(then);
  UnmaskRun(now, &read);
  EXPECT_EQ(read.app, now.app);
  EXPECT_NE(read.build_id, now.build_id);
  EXPECT_NE(read.build_id, "");
}

// So that the records alone do not show that two runs were of the same program.
TEST_F(MaskedRunTest, EachSessionHasOtherFingerprints) {
  const RunFacts one = testing::SomeFacts();
  RunFacts other = one;
  other.session_id = base::CreateUuidV7(1);
  EXPECT_NE(MaskRun(one).app, MaskRun(other).app);
  EXPECT_EQ(MaskRun(one).app, MaskRun(one).app);
}

}  // namespace
}  // namespace lagwatch::sdk
