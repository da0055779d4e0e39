// SPDX-License-Identifier: Apache-2.0
// Consent, through the public interface: what is watched, written and left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "report/format/report_encoder.h"
#include "report/spool/spool_writer.h"
#include "tests/testing/process.h"
#include "tests/testing/spool_files.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ReportsIn;
using ::testing::UnorderedElementsAre;
using testing::WaitUntil;

class ConsentTest : public ::testing::Test {
 protected:
  Options OptionsWith(lw_consent consent) const {
    return {.app = "consent-test",
            .spool_directory = spool_,
            .threshold_ms = 100,
            .check_period_ms = 50,
            .sample_interval_ms = 10,
            .consent = consent};
  }
  // One dispatch that spins until its report is on disk.
  void FreezeUntilReported(const Monitor& monitor) const {
    const size_t before = ReportsIn(spool_).size();
    const Loop loop = monitor.WatchLoop("ui");
    {
      ScopedDispatch dispatch(loop, "freeze");
      testing::StopFlag stop{false};
      std::thread judge([&] {
        EXPECT_TRUE(WaitUntil([&] { return ReportsIn(spool_).size() > before; }));
        stop = true;
      });
      testing::Spin(stop);
      judge.join();
    }
    lw_unwatch_loop(loop.handle());
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    if (!fs::exists(spool_)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(spool_)) {
      if (!entry.is_directory()) files.push_back(entry.path().lexically_relative(spool_).string());
    }
    return files;
  }
  void Write(const std::string& name) const { std::ofstream(spool_ + "/" + name) << "something"; }
  // Returns the segment's name.
  std::string WriteSegmentOf(const std::string& app, const base::Uuid& session) const {
    std::vector<char> bytes(4096);
    report::FixedBuffer buffer(bytes.data(), bytes.size());
    report::FrameSliceFields slice;
    slice.id = base::CreateUuidV7(1);
    slice.session_id = session;
    slice.app = app;
    EXPECT_TRUE(report::EncodeFrameSlice(slice, &buffer));
    auto writer = report::SpoolWriter::Create(&base::SystemEnv(), spool_, session, {}).value();
    EXPECT_TRUE(writer->Append(report::RecordType::kFrameSlice, buffer.content()));
    return base::ToString(session) + "-000000.seg";
  }
  static size_t CountThreads() {
    return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/task"), {}));
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

// The first of them: no one has been told of consent in this process.
TEST_F(ConsentTest, TellsHowTheLastRunEndedWhenItStartsLater) {
  int calls = 0;
  Options options = OptionsWith(LW_CONSENT_NOT_GIVEN);
  options.on_last_exit = [](const lw_last_exit*, void* context) { ++*static_cast<int*>(context); };
  options.on_last_exit_context = &calls;
  {
    auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
    ASSERT_TRUE(monitor.is_on());
  }
  // As in a program whose user was not asked yet: nothing is erased.
  auto monitor = Monitor::Start(options);
  EXPECT_FALSE(monitor.is_on());
  EXPECT_EQ(calls, 0);
  monitor.SetConsent(LW_CONSENT_GIVEN);
  ASSERT_TRUE(monitor.is_on());
  EXPECT_EQ(calls, 1);
}

TEST_F(ConsentTest, WithoutItNothingIsWatchedOrKept) {
  const size_t threads = CountThreads();
  lw_set_consent(LW_CONSENT_NOT_GIVEN);
  // The user's last word counts, whatever the option says.
  auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
  EXPECT_FALSE(monitor.is_on());
  EXPECT_THAT(monitor.why_off(), HasSubstr("consent"));
  EXPECT_EQ(CountThreads(), threads);
  EXPECT_FALSE(fs::exists(spool_));
}

TEST_F(ConsentTest, StartsWhatWaitedForItOnceItIsGiven) {
  lw_set_consent(LW_CONSENT_NOT_GIVEN);
  auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_NOT_GIVEN));
  ASSERT_FALSE(monitor.is_on());
  monitor.SetConsent(LW_CONSENT_GIVEN);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  EXPECT_EQ(monitor.why_off(), "");
  FreezeUntilReported(monitor);
  ASSERT_FALSE(ReportsIn(spool_).empty());
  EXPECT_EQ(ReportsIn(spool_)[0].app, "consent-test");
  EXPECT_EQ(lw_set_consent(LW_CONSENT_GIVEN), LW_ALREADY_STARTED);
}

TEST_F(ConsentTest, GivenAfterAStopItStartsNothing) {
  lw_set_consent(LW_CONSENT_GIVEN);
  auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
  ASSERT_TRUE(monitor.is_on());
  monitor.Stop(0);
  EXPECT_EQ(lw_set_consent(LW_CONSENT_GIVEN), LW_OFF);
  EXPECT_THAT(lw_why_off(), HasSubstr("stopped"));
}

TEST_F(ConsentTest, GivenAfterTheWaitWasStoppedItStartsNothing) {
  lw_set_consent(LW_CONSENT_NOT_GIVEN);
  auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
  ASSERT_FALSE(monitor.is_on());
  lw_stop(0);
  EXPECT_EQ(lw_set_consent(LW_CONSENT_GIVEN), LW_OFF);
  EXPECT_THAT(lw_why_off(), HasSubstr("stopped"));
}

TEST_F(ConsentTest, TakenBackItErasesWhatIsKeptOfThisProgramAndNothingElse) {
  lw_set_consent(LW_CONSENT_GIVEN);
  auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
  ASSERT_TRUE(monitor.is_on());
  FreezeUntilReported(monitor);
  const base::Uuid other = base::CreateUuidV7(2);
  const std::string others_segment = WriteSegmentOf("viewer", other);
  const std::string own_old_segment = WriteSegmentOf("consent-test", base::CreateUuidV7(3));
  const std::string unknown = base::ToString(base::CreateUuidV7(4)) + "-000003.rejected";
  for (const std::string& name :
       {std::string("letter.txt"), std::string("config-of-mine"), std::string("ledger"), unknown,
        base::ToString(other) + "-000001.seg", base::ToString(other) + "-old.seg"})
    Write(name);
  fs::create_symlink(directory_ / "elsewhere", spool_ + "/link.seg");

  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  EXPECT_FALSE(monitor.is_on());
  EXPECT_THAT(monitor.why_off(), HasSubstr("consent"));
  EXPECT_THAT(Files(), UnorderedElementsAre("letter.txt", "config-of-mine", "ledger", "link.seg",
                                            others_segment, base::ToString(other) + "-000001.seg",
                                            base::ToString(other) + "-old.seg"));
  EXPECT_TRUE(ReportsIn(spool_).empty());

  monitor.SetConsent(LW_CONSENT_GIVEN);
  EXPECT_TRUE(monitor.is_on());
  EXPECT_FALSE(monitor.last_exit()) << "the run before is forgotten";
}

TEST_F(ConsentTest, TheLastProgramTakesWhatAllShare) {
  lw_set_consent(LW_CONSENT_GIVEN);
  auto monitor = Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
  ASSERT_TRUE(monitor.is_on());
  for (const char* name : {"ledger", "ledger.lock"}) Write(name);
  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  EXPECT_THAT(Files(), UnorderedElementsAre());
}

}  // namespace
}  // namespace lagwatch
