// SPDX-License-Identifier: Apache-2.0
// Consent, through the public interface: what is watched, written and left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "report/format/report_encoder.h"
#include "report/spool/spool_writer.h"
#include "report/upload/ledger_file.h"
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
            .detection = {.check_period_ms = 50, .sample_interval_ms = 10},
            .privacy = {.consent = consent}};
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
  void Write(const std::string& name, const std::string& content = "something") const {
    std::ofstream(spool_ + "/" + name) << content;
  }
  Monitor StartedOnce() const {
    lw_set_consent(LW_CONSENT_GIVEN);
    return Monitor::Start(OptionsWith(LW_CONSENT_GIVEN));
  }
  // As a sender left it: of each of these programs a report was lost and another one was sent.
  void WriteLedger(const std::vector<std::string>& apps) const {
    auto ledger = report::UploadLedger::New(1);
    for (const std::string& app : apps) {
      ledger.CountLoss({.app = app}, {report::LossReason::kTooOld, 0, 1}, 1);
      using Quota = report::UploadLedger::Quota;
      for (const Quota quota : {Quota::kReports, Quota::kTraces, Quota::kTraceKib})
        ledger.QuotaUseOf({.app = app}, quota);
    }
    ledger.FreezeLosses();
    for (const std::string& app : apps)
      ledger.CountLoss({.app = app}, {report::LossReason::kTooMuch, 0, 1}, 1);
    Write("ledger", ledger.ToText());
    Write("ledger.lock", "");
  }
  report::UploadLedger Ledger() const {
    std::string text;
    EXPECT_EQ(base::SystemEnv().ReadAll(spool_ + "/ledger", &text), 0);
    auto ledger = report::UploadLedger::Parse(text);
    return ledger.ok() ? *ledger : report::UploadLedger();
  }
  uint64_t LockInode() const {
    struct stat status {};
    EXPECT_EQ(stat((spool_ + "/ledger.lock").c_str(), &status), 0);
    return status.st_ino;
  }
  // Return the segment's name.
  std::string WriteSegment(const base::Uuid& session, report::RecordType type,
                           std::string_view payload) const {
    auto writer = report::SpoolWriter::Create(&base::SystemEnv(), spool_, session, {}).value();
    EXPECT_TRUE(writer->Append(type, payload));
    return base::ToString(session) + "-000000.seg";
  }
  std::string WriteSegmentOf(const std::string& app, const base::Uuid& session) const {
    std::vector<char> bytes(4096);
    report::FixedBuffer buffer(bytes.data(), bytes.size());
    report::FrameSliceView slice;
    slice.id = base::CreateUuidV7(1);
    slice.session_id = session;
    slice.app = app;
    EXPECT_TRUE(report::EncodeFrameSlice(slice, &buffer));
    return WriteSegment(session, report::RecordType::kFrameSlice, buffer.content());
  }
  static size_t CountThreads() {
    return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/task"), {}));
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

// The first of them: consent was not given yet in this process.
TEST_F(ConsentTest, TellsHowTheLastRunEndedWhenItStartsLater) {
  int calls = 0;
  Options options = OptionsWith(LW_CONSENT_NOT_GIVEN);
  options.process.on_last_exit = [](const lw_last_exit*, void* context) { ++*static_cast<int*>(context); };
  options.process.on_last_exit_context = &calls;
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
  const std::string link = base::ToString(base::CreateUuidV7(5)) + "-000001.seg";
  fs::create_symlink(directory_ / "elsewhere", spool_ + "/" + link);

  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  EXPECT_FALSE(monitor.is_on());
  EXPECT_THAT(monitor.why_off(), HasSubstr("consent"));
  EXPECT_THAT(Files(), UnorderedElementsAre("letter.txt", "config-of-mine", "ledger", "ledger.lock", link,
                                            others_segment, base::ToString(other) + "-000001.seg",
                                            base::ToString(other) + "-old.seg"));
  EXPECT_TRUE(ReportsIn(spool_).empty());

  monitor.SetConsent(LW_CONSENT_GIVEN);
  EXPECT_TRUE(monitor.is_on());
  EXPECT_FALSE(monitor.last_exit()) << "the run before is forgotten";
}

TEST_F(ConsentTest, TakenBackItLeavesWhatIsCountedOfOthers) {
  auto monitor = StartedOnce();
  ASSERT_TRUE(monitor.is_on());
  WriteLedger({"consent-test", "viewer"});
  const std::string installation = Ledger().installation;
  const uint64_t lock = LockInode();
  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  const report::UploadLedger left = Ledger();
  EXPECT_EQ(left.installation, installation);
  EXPECT_EQ(left.quota_uses.size(), 3u) << "of the other program: reports, traces and their KiB";
  ASSERT_EQ(left.losses.size(), 1u);
  EXPECT_EQ(left.losses[0].app, "viewer");
  ASSERT_EQ(left.frozen.size(), 1u);
  EXPECT_EQ(left.frozen[0].app, "viewer");
  EXPECT_EQ(LockInode(), lock);
}

TEST_F(ConsentTest, TakenBackItLeavesALedgerThatAnotherProcessUses) {
  auto monitor = StartedOnce();
  ASSERT_TRUE(monitor.is_on());
  WriteLedger({"consent-test"});
  int is_locked[2];
  ASSERT_EQ(pipe(is_locked), 0);
  const pid_t sender = fork();
  if (sender == 0) {
    report::LedgerFile ledger(&base::SystemEnv(), spool_);
    const char answer = ledger.Enter(1).ok() ? 'y' : 'n';
    if (write(is_locked[1], &answer, 1) == 1) pause();
    _exit(0);
  }
  char answer = 'n';
  ASSERT_EQ(read(is_locked[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  EXPECT_FALSE(monitor.is_on());
  EXPECT_THAT(Files(), UnorderedElementsAre("ledger", "ledger.lock"));
  EXPECT_EQ(Ledger().losses.size(), 1u);
  kill(sender, SIGKILL);
  waitpid(sender, nullptr, 0);
  for (const int fd : is_locked) close(fd);
}

TEST_F(ConsentTest, TakenBackItLeavesWhatThisProgramWroteDownOfOthers) {
  auto monitor = StartedOnce();
  ASSERT_TRUE(monitor.is_on());
  const auto write_losses_of = [&](const std::string& app) {
    const base::Uuid id = base::CreateUuidV7(1);
    const report::Losses losses = {.id = id, .app = app, .losses = {{report::LossReason::kTooOld, 0, 1}}};
    return WriteSegment(id, report::RecordType::kLosses, report::EncodeLosses(losses));
  };
  const std::string others = write_losses_of("viewer");
  write_losses_of("consent-test");
  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  EXPECT_THAT(Files(), UnorderedElementsAre(others));
}

TEST_F(ConsentTest, TakenBackItErasesNothingWhereTheMonitorWouldNotWrite) {
  fs::create_directory(spool_);
  const std::string segment = WriteSegmentOf("consent-test", base::CreateUuidV7(3));
  lw_set_consent(LW_CONSENT_GIVEN);
  const auto erased_nothing = [&](const std::string& directory) {
    Options options = OptionsWith(LW_CONSENT_GIVEN);
    options.spool_directory = directory;
    auto monitor = Monitor::Start(options);
    EXPECT_FALSE(monitor.is_on());
    monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
    monitor.SetConsent(LW_CONSENT_GIVEN);
    return Files() == std::vector<std::string>{segment};
  };
  fs::create_directory_symlink(spool_, directory_ / "link");
  EXPECT_TRUE(erased_nothing(directory_ / "link"));
  fs::permissions(spool_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_TRUE(erased_nothing(spool_));
}

TEST_F(ConsentTest, TheLastProgramTakesWhatAllShare) {
  auto monitor = StartedOnce();
  ASSERT_TRUE(monitor.is_on());
  WriteLedger({"consent-test", ""});  // the user of sealed reports is unknown
  Write("ledger.tmp");
  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  EXPECT_THAT(Files(), UnorderedElementsAre("ledger.lock"));
}

}  // namespace
}  // namespace lagwatch
