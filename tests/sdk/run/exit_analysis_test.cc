// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/exit_analysis.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "sdk/run/run_end.h"
#include "sdk/run/run_writer.h"
#include "tests/sdk/run/run_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

using policies::ExitReason;
using testing::DeadPid;
using testing::InKilledChild;
using testing::PageParts;
using testing::RunPath;
using testing::SomeFacts;
using testing::WriteContent;

const base::Uuid kHang = base::CreateUuidV7(1'700'000'000'000);

class ExitAnalysis : public ::testing::Test {
 protected:
  // Like this process's, but over.
  static RunFacts DeadRun() {
    RunFacts facts = SomeFacts();
    facts.pid = DeadPid();
    return facts;
  }
  void Leave(const RunFacts& facts, const PageParts& parts) const {
    WriteContent(RunPath(directory_.path(), facts), parts.Bytes());
  }
  void Leave(const RunFacts& facts) const { Leave(facts, PageParts(facts)); }
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
    return std::filesystem::exists(RunPath(directory_.path(), facts));
  }
  RunRecord PageOf(const RunFacts& facts) const {
    RunRecord record;
    EXPECT_EQ(ParseRunRecord(testing::FileContent(RunPath(directory_.path(), facts)), &record),
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
  ExitReason ToldReason() const {
    std::vector<EndedRun> runs = Told();
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? ExitReason::kUnknown : runs[0].reason;
  }

  testing::ScopedTempDirectory directory_;
  RunFacts now_ = SomeFacts();
};

TEST_F(ExitAnalysis, NothingIsToldWhereNothingIsLeft) {
  EXPECT_TRUE(Told().empty());
  ASSERT_EQ(mkdir((directory_ / "runs").c_str(), 0700), 0);
  EXPECT_TRUE(Told().empty());
}

TEST_F(ExitAnalysis, AProcessKilledInAHangIsToldWithIt) {
  RunFacts facts = SomeFacts();
  InKilledChild([&] {
    facts.pid = static_cast<uint32_t>(getpid());
    facts.start_ticks = *ProcessStartTicks(facts.pid);
    TextCell scene;
    scene.Set("export");
    auto writer = std::move(RunWriter::Create(directory_.path(), facts, &scene).value());
    writer->HangBegan(kHang, "ui", 3 * base::kNsPerSecond);
    static_cast<void>(writer.release());
  });
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].reason, ExitReason::kKilledInHang);
  EXPECT_TRUE(runs[0].is_of_same_program);
  report::RunEnd end = runs[0].ToRunEnd();
  EXPECT_EQ(end.session_id, facts.session_id);
  EXPECT_EQ(end.report_id, kHang);
  EXPECT_GE(end.hang_ns, 3'000'000'000u);
  EXPECT_EQ(end.loop, "ui");
  EXPECT_EQ(end.scene, "export");
  EXPECT_EQ(end.app, "editor");
  EXPECT_EQ(end.app_version, "2.3.1");
  EXPECT_EQ(end.user, "u-71");
  EXPECT_GE(end.last_seen_wall_ms, end.run_start_wall_ms);
  EXPECT_FALSE(IsThere(facts));
  EXPECT_TRUE(Told().empty());
}

TEST_F(ExitAnalysis, AKilledProcessIsToldWithWhatItWasUsedFor) {
  RunFacts facts = SomeFacts();
  InKilledChild([&] {
    facts.pid = static_cast<uint32_t>(getpid());
    facts.start_ticks = *ProcessStartTicks(facts.pid);
    TextCell scene;
    auto writer = RunWriter::Create(directory_.path(), facts, &scene);
    RunUsage usage{};
    usage.id = kHang;
    usage.watched_ns = 7 * base::kNsPerSecond;
    usage.dispatches = 10;
    usage.hangs = 1;
    usage.hang_ns = 2 * base::kNsPerSecond;
    usage.durations[12] = 1;
    usage.suppressed[static_cast<size_t>(policies::SuppressedReason::kReportLimit)] = 3;
    (*writer)->NoteUsage(usage);
    (*writer)->Refresh();
  });
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  auto usage = report::DecodeUsage(runs[0].EncodeUsage());
  ASSERT_TRUE(usage.ok()) << usage.status().message();
  EXPECT_EQ(usage->id, kHang);
  EXPECT_EQ(usage->session_id, facts.session_id);
  EXPECT_EQ(usage->app, "editor");
  EXPECT_EQ(usage->app_version, "2.3.1");
  EXPECT_EQ(usage->user, "u-71");
  ASSERT_EQ(usage->loops.size(), 1u);
  EXPECT_EQ(usage->loops[0].loop, "");
  EXPECT_EQ(usage->loops[0].usage.watched_ns, 7 * base::kNsPerSecond);
  EXPECT_EQ(usage->loops[0].usage.hang_ns, 2 * base::kNsPerSecond);
  EXPECT_EQ(usage->loops[0].usage.durations.counts[12], 1u);
  ASSERT_EQ(usage->suppressed.size(), 1u);
  EXPECT_EQ(usage->suppressed[0].reason, policies::SuppressedReason::kReportLimit);
  EXPECT_EQ(usage->suppressed[0].count, 3u);
}

TEST_F(ExitAnalysis, ARunThatHasToldItAllHasNoUseLeft) {
  Leave(DeadRun());
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].EncodeUsage(), "");
}

TEST_F(ExitAnalysis, MarksTellTheReason) {
  RunFacts facts = DeadRun();
  PageParts ended(facts);
  ended.marks.has_ended = 1;
  Leave(facts, ended);
  EXPECT_EQ(ToldReason(), ExitReason::kCleanExit);
  PageParts stopped(facts);
  stopped.marks.was_asked_to_stop = 1;
  Leave(facts, stopped);
  EXPECT_EQ(ToldReason(), ExitReason::kStopped);
  PageParts crashed(facts);
  crashed.marks.crash_signal = SIGSEGV;
  Leave(facts, crashed);
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].reason, ExitReason::kCrash);
  EXPECT_EQ(runs[0].ToRunEnd().signal, SIGSEGV);
  Leave(facts);
  EXPECT_EQ(ToldReason(), ExitReason::kUnknown);
}

TEST_F(ExitAnalysis, ACrashIsTakenWithTheHangAroundItOrAfterIt) {
  constexpr int64_t kCrashMs = 1'700'000'010'000;
  RunFacts facts = DeadRun();
  PageParts parts(facts);
  parts.marks.crash_signal = SIGSEGV;
  parts.marks.crash_wall_ms = kCrashMs;
  parts.progress[0].sequence = 1;
  parts.progress[0].hang_id = kHang;
  auto told = [&](CrashMoment moment, int64_t hang_begin_ms, int64_t seen_ms) {
    parts.marks.crash_moment = static_cast<uint32_t>(moment);
    parts.progress[0].hang_begin_wall_ms = hang_begin_ms;
    parts.progress[0].seen_wall_ms = seen_ms;
    parts.FixChecksums();
    Leave(facts, parts);
    return ToldReason();
  };
  EXPECT_EQ(told(CrashMoment::kInHang, kCrashMs - 5000, kCrashMs), ExitReason::kCrashInHang);
  EXPECT_EQ(told(CrashMoment::kInHang, kCrashMs - 5000, kCrashMs + 60'000), ExitReason::kCrashInHang);
  EXPECT_EQ(told(CrashMoment::kOutsideHang, kCrashMs - 50, kCrashMs + 3000), ExitReason::kHangInCrash);
  EXPECT_EQ(told(CrashMoment::kOutsideHang, kCrashMs + 50, kCrashMs + 3000), ExitReason::kHangInCrash);
  // It was about to be a hang when the crash came.
  EXPECT_EQ(told(CrashMoment::kOutsideHang, kCrashMs - 1950, kCrashMs + 60), ExitReason::kCrashInHang);
  EXPECT_EQ(told(CrashMoment::kNotKnown, kCrashMs - 5000, kCrashMs), ExitReason::kCrash);
  EXPECT_EQ(told(static_cast<CrashMoment>(99), INT64_MIN, INT64_MAX), ExitReason::kCrash);
  EXPECT_EQ(told(CrashMoment::kOutsideHang, INT64_MIN, INT64_MAX), ExitReason::kCrashInHang);
  parts.progress[0].hang_id = {};
  EXPECT_EQ(told(CrashMoment::kOutsideHang, 0, kCrashMs), ExitReason::kCrash);
}

TEST_F(ExitAnalysis, ARunBeforeARebootIsToldWithItsHang) {
  RunFacts facts = SomeFacts();  // the pid is in use again, by this process
  facts.boot_id.bytes[0] ^= 1;
  PageParts parts(facts);
  parts.progress[0].sequence = 1;
  parts.progress[0].hang_id = kHang;
  parts.progress[0].hang_ns = 5;
  parts.FixChecksums();
  Leave(facts, parts);
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].reason, ExitReason::kReboot);
  EXPECT_EQ(runs[0].ToRunEnd().report_id, kHang);
  EXPECT_EQ(runs[0].ToRunEnd().hang_ns, 5u);
}

TEST_F(ExitAnalysis, AnotherBuildOrVersionOfTheSameProgramIsAnUpdate) {
  RunFacts facts = DeadRun();
  facts.app_version = "2.3.0";
  Leave(facts);
  EXPECT_EQ(ToldReason(), ExitReason::kUpdate);
  facts = DeadRun();
  facts.build_id = "another";
  Leave(facts);
  EXPECT_EQ(ToldReason(), ExitReason::kUpdate);
}

TEST_F(ExitAnalysis, AnotherProgramsVersionSaysNothing) {
  RunFacts facts = DeadRun();
  facts.app_version = "2.3.0";
  facts.program = "helper";
  Leave(facts);
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].reason, ExitReason::kUnknown);
  EXPECT_FALSE(runs[0].is_of_same_program);
}

TEST_F(ExitAnalysis, AKillForMemoryIsSeenInTheCounters) {
  int64_t kills = OomKillsOnMachine();
  int64_t group_kills = now_.oom_group_path.empty() ? -1 : OomKillsInGroup(now_.oom_group_path.c_str());
  if (kills < 0) GTEST_SKIP() << "this kernel does not count them";
  RunFacts facts = DeadRun();
  facts.oom_group_path.clear();
  facts.oom_group_inode = 0;
  PageParts parts(facts);
  auto leave = [&](int64_t seen_on_machine, int64_t seen_in_group) {
    parts.progress[0].sequence = 1;
    parts.progress[0].oom_kills_on_machine = seen_on_machine;
    parts.progress[0].oom_kills_in_group = seen_in_group;
    parts.FixChecksums();
    Leave(facts, parts);
  };
  leave(kills, -1);
  EXPECT_EQ(ToldReason(), ExitReason::kUnknown);
  leave(kills + 1, -1);  // counted from 0 again
  EXPECT_EQ(ToldReason(), ExitReason::kUnknown);
  if (kills > 0) {
    leave(kills - 1, -1);
    EXPECT_EQ(ToldReason(), ExitReason::kOomKill);
  }
  if (group_kills < 0) return;
  facts.oom_group_path = now_.oom_group_path;
  facts.oom_group_inode = now_.oom_group_inode;
  parts = PageParts(facts);
  leave(kills, group_kills);
  EXPECT_EQ(ToldReason(), ExitReason::kUnknown);
  if (group_kills > 0) {
    leave(kills, group_kills - 1);
    EXPECT_EQ(ToldReason(), ExitReason::kOomKill);
    facts.oom_group_inode ^= 1;  // another group of that name
    parts = PageParts(facts);
    leave(kills, group_kills - 1);
    EXPECT_EQ(ToldReason(), ExitReason::kUnknown);
  }
}

TEST_F(ExitAnalysis, TheCountersPathIsHeldToTheGroupsTree) {
  EXPECT_EQ(OomGroupInode("/etc/passwd"), 0u);
  EXPECT_EQ(OomGroupInode("/sys/fs/cgroup/../../../etc/passwd"), 0u);
  EXPECT_EQ(OomGroupInode(""), 0u);
}

TEST_F(ExitAnalysis, ALivingProcessIsLeftAlone) {
  RunFacts facts = SomeFacts();
  facts.pid = static_cast<uint32_t>(getppid());
  facts.start_ticks = *ProcessStartTicks(facts.pid);
  Leave(facts);
  EXPECT_TRUE(Told().empty());
  EXPECT_TRUE(IsThere(facts));
  ++facts.start_ticks;  // another one that had this pid
  Leave(facts);
  EXPECT_EQ(Told().size(), 1u);
}

TEST_F(ExitAnalysis, ARunOfThisProcessThatGoesOnIsLeftAlone) {
  TextCell scene;
  RunFacts facts = SomeFacts();
  auto writer = std::move(RunWriter::Create(directory_.path(), facts, &scene).value());
  if (PageOf(facts).keeps_lock) {
    EXPECT_TRUE(Told().empty());
  }
  writer->MarkEnded();
  writer.reset();
  EXPECT_EQ(ToldReason(), ExitReason::kCleanExit);
}

TEST_F(ExitAnalysis, AProgramThatReplacedItselfEndedWell) {
  Leave(SomeFacts());
  EXPECT_EQ(ToldReason(), ExitReason::kCleanExit);
}

TEST_F(ExitAnalysis, ProcessesThatCannotBeSeenAreJudgedByTheirLock) {
  RunFacts facts = DeadRun();
  facts.pid_namespace ^= 1;
  PageParts parts(facts);
  parts.header.keeps_lock = 0;
  parts.FixChecksums();
  Leave(facts, parts);
  EXPECT_TRUE(Told().empty());
  parts.header.keeps_lock = 1;
  parts.FixChecksums();
  Leave(facts, parts);
  int fd = open(RunPath(directory_.path(), facts).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(Told().empty());
  close(fd);
  EXPECT_EQ(Told().size(), 1u);
}

TEST_F(ExitAnalysis, WhatProcDoesNotTellIsNoEvidence) {
  RunFacts facts = SomeFacts();
  facts.boot_id = {};
  facts.start_ticks = 0;
  PageParts parts(facts);
  parts.header.keeps_lock = 0;
  parts.FixChecksums();
  Leave(facts, parts);
  EXPECT_TRUE(Told().empty());
  facts = DeadRun();
  Leave(facts);
  now_.boot_id = {};
  EXPECT_EQ(ToldReason(), ExitReason::kUnknown);
}

TEST_F(ExitAnalysis, RunsOfOtherMachinesAreLeftAlone) {
  now_.machine = 1;
  RunFacts facts = DeadRun();
  facts.machine = 2;
  facts.boot_id.bytes[0] ^= 1;
  Leave(facts);
  EXPECT_TRUE(Told().empty());
  EXPECT_TRUE(IsThere(facts));
}

TEST_F(ExitAnalysis, ARecordStaysUntilItIsTold) {
  RunFacts facts = DeadRun();
  Leave(facts);
  EXPECT_EQ(Told(/*is_taken=*/false).size(), 1u);
  EXPECT_TRUE(IsThere(facts));
  EXPECT_EQ(Told().size(), 1u);
  EXPECT_FALSE(IsThere(facts));
}

TEST_F(ExitAnalysis, TheNewestComesFirstAndTheOldestAreRemovedUntold) {
  LeaveDeadRuns(80);
  std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), kMaxEndedRuns);
  for (size_t i = 0; i < runs.size(); ++i)
    EXPECT_EQ(runs[i].record.run.start_wall_ms, static_cast<int64_t>(79 - i));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "runs"));
}

TEST_F(ExitAnalysis, OfHoweverManyOnlyWhatIsToGoIsRemoved) {
  LeaveDeadRuns(80);
  const auto is_first = [](const EndedRun& run) { return run.record.run.start_wall_ms == 0; };
  RemoveEndedRuns(directory_.path(), now_, is_first);
  const std::filesystem::directory_iterator left(directory_ / "runs");
  EXPECT_EQ(std::distance(left, {}), 79);
}

TEST_F(ExitAnalysis, OthersFilesAndLinksAreLeftAlone) {
  const std::string id = base::ToString(base::CreateUuidV7(5));
  std::string runs = directory_ / "runs/";
  RunFacts facts = DeadRun();
  WriteContent(directory_ / "elsewhere", PageParts(facts).Bytes());
  WriteContent(runs + "notes.txt", "mine");
  WriteContent(runs + "x" + id.substr(1) + ".run", "no id");
  WriteContent(runs + id + ".run", "no record");
  WriteContent(runs + id + ".new", "");
  ASSERT_EQ(symlink((directory_ / "elsewhere").c_str(), RunPath(directory_.path(), facts).c_str()), 0);
  std::string fifo = runs + base::ToString(base::CreateUuidV7(6)) + ".run";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(Told().empty());
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(runs)) ++count;
  EXPECT_EQ(count, 6u);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "elsewhere"));
}

TEST_F(ExitAnalysis, ADirectoryThatIsALinkIsRefused) {
  testing::ScopedTempDirectory elsewhere;
  RunFacts facts = DeadRun();
  WriteContent(RunPath(elsewhere.path(), facts), PageParts(facts).Bytes());
  ASSERT_EQ(symlink((elsewhere / "runs").c_str(), (directory_ / "runs").c_str()), 0);
  EXPECT_TRUE(Told().empty());
}

TEST_F(ExitAnalysis, DamagedRecordsAreRemoved) {
  RunFacts facts = DeadRun();
  std::string bytes = PageParts(facts).Bytes();
  for (const std::string& damaged : {std::string(), bytes.substr(0, 100), std::string(4096, '\0')}) {
    WriteContent(RunPath(directory_.path(), facts), damaged);
    EXPECT_TRUE(Told().empty());
    EXPECT_FALSE(IsThere(facts));
  }
}

TEST_F(ExitAnalysis, AnUnfinishedRecordIsRemovedAnHourLater) {
  std::string path = directory_ / "runs/" + base::ToString(base::CreateUuidV7(5)) + ".new";
  WriteContent(path, "");
  EXPECT_TRUE(Told().empty());
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_TRUE(Told().empty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ExitAnalysis, ManyTellersTellEachRunOnce) {
  uint32_t pid = DeadPid();
  for (int i = 0; i < 50; ++i) {
    RunFacts facts = SomeFacts();
    facts.pid = pid;
    Leave(facts);
  }
  std::vector<std::vector<EndedRun>> told(4);
  std::vector<std::thread> tellers;
  for (auto& runs : told) tellers.emplace_back([&] { runs = Told(); });
  for (std::thread& teller : tellers) teller.join();
  std::vector<std::string> sessions;
  for (const auto& runs : told) {
    for (const EndedRun& run : runs) sessions.push_back(base::ToString(run.record.run.session_id));
  }
  std::sort(sessions.begin(), sessions.end());
  EXPECT_EQ(std::unique(sessions.begin(), sessions.end()), sessions.end());
  EXPECT_EQ(sessions.size(), 50u);
}

// A process that keeps a record and ends by `end`, seen as a process sees it that is not its parent.
class FollowedRun : public ExitAnalysis {
 protected:
  enum class Parent : uint8_t { kHasNotWaited, kHasWaited };

  void EndBy(const std::function<void()>& end, Parent parent = Parent::kHasNotWaited) {
    RunFacts facts = SomeFacts();
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      // A sanitizer has handlers.
      for (int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) signal(fatal, SIG_DFL);
      facts.pid = static_cast<uint32_t>(getpid());
      facts.start_ticks = *ProcessStartTicks(facts.pid);
      TextCell scene;
      auto writer = std::move(RunWriter::Create(directory_.path(), facts, &scene).value());
      if (is_in_hang_) writer->HangBegan(kHang, "ui", base::kNsPerSecond);
      static_cast<void>(writer.release());
      close(ready[1]);
      pause();
      _exit(9);
    }
    close(ready[1]);
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    const int followed = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    const uint64_t start_ticks = ProcessStartTicks(static_cast<uint32_t>(child)).value();
    child_ = child;
    end();
    pollfd ended{.fd = followed, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, -1), 1);
    if (parent == Parent::kHasWaited) waitpid(child, nullptr, 0);
    status_ = ReadExitStatus(followed, child);
    if (status_) noted_ = NoteExitStatus(directory_.path(), child, start_ticks, *status_);
    EXPECT_EQ(NoteExitStatus(directory_.path(), child, start_ticks + 1, SIGSEGV), 0);
    if (parent == Parent::kHasNotWaited) waitpid(child, nullptr, 0);
    close(followed);
  }
  void EndBySignal(int signal) {
    EndBy([&] { kill(child_, signal); });
  }

  bool is_in_hang_ = false;
  pid_t child_ = 0;
  std::optional<int> status_;
  int noted_ = 0;
};

TEST_F(FollowedRun, ACrashThatNothingHandledIsToldWithItsSignal) {
  EndBySignal(SIGSEGV);
  EXPECT_EQ(noted_, 1);
  const std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].reason, ExitReason::kCrash);
  EXPECT_EQ(runs[0].ToRunEnd().signal, SIGSEGV);
}

TEST_F(FollowedRun, ACrashInAHangIsToldAsOne) {
  is_in_hang_ = true;
  EndBySignal(SIGBUS);
  EXPECT_EQ(ToldReason(), ExitReason::kCrashInHang);
}

TEST_F(FollowedRun, AnAbortInAHangMayBeAServiceManagers) {
  is_in_hang_ = true;
  EndBySignal(SIGABRT);
  EXPECT_EQ(ToldReason(), ExitReason::kKilledInHang);
}

TEST_F(FollowedRun, ARequestToStopIsNoCrash) {
  EndBySignal(SIGTERM);
  EXPECT_EQ(ToldReason(), ExitReason::kStopped);
}

TEST_F(FollowedRun, AKillSaysNothingNew) {
  EndBySignal(SIGKILL);
  EXPECT_TRUE(status_.has_value());
  EXPECT_EQ(noted_, 0);
  EXPECT_NE(ToldReason(), ExitReason::kCrash);
}

TEST_F(FollowedRun, TheKernelKnowsTheEndForLongerOnNewMachines) {
  EndBy([&] { kill(child_, SIGABRT); }, Parent::kHasWaited);
  if (!status_) GTEST_SKIP() << "Linux before 6.15 forgets it with the process";
  EXPECT_EQ(*status_ & 0x7f, SIGABRT);
  EXPECT_EQ(ToldReason(), ExitReason::kCrash);
}

TEST(KeptCrashes, AreInTheKernelsLog) {
  constexpr char kLog[] =
      "<6>[   50.5] editor[77]: segfault at 10 ip 0000 sp 0000 error 4 in editor[400000+1000]\n"
      "<6>[  100.5] traps: editor[77] trap invalid opcode ip:55 sp:7f error:0 in editor[251bff,55+3]\n"
      "<6>[  101.5] traps: a-longer-name-t[78] general protection fault ip:55 sp:7f error:0 in x\n"
      "<6>[  102.5] my editor[79]: segfault at 10 ip 0000 sp 0000 error 4\n"
      "<6>[  103.5] editor[80]: saved a file\n";
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 77, 99), SIGILL);
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 77, 110), 0);  // of a process that had the number before
  EXPECT_EQ(FindCrashInLog(kLog, "a-longer-name-than-that", 78, 99), SIGSEGV);
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 79, 99), 0);
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 80, 99), 0);
  EXPECT_EQ(FindCrashInLog("", "editor", 77, 99), 0);
  EXPECT_EQ(FindCrashInLog(kLog, "", 77, 99), 0);
}

TEST(KeptCrashes, AreAmongSystemdsDumps) {
  const testing::ScopedTempDirectory directory;
  const std::string boot_id(32, 'b');
  const std::string dump = (directory / "core.editor.1000.") + boot_id + ".77.1700000000000000.zst";
  WriteContent(dump, "");
  if (setxattr(dump.c_str(), "user.coredump.signal", "6", 1, 0) != 0) GTEST_SKIP() << "no attributes here";
  EXPECT_EQ(FindCrashInDumps(directory.path(), boot_id, 77), SIGABRT);
  EXPECT_EQ(FindCrashInDumps(directory.path(), boot_id, 7), 0);
  EXPECT_EQ(FindCrashInDumps(directory.path(), std::string(32, 'c'), 77), 0);
  EXPECT_EQ(FindCrashInDumps(directory / "none", boot_id, 77), 0);
}

}  // namespace
}  // namespace lagwatch::sdk
