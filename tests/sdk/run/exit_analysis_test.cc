// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/exit_analysis.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "sdk/run/run_writer.h"
#include "tests/sdk/run/ended_runs_testing.h"
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

using ExitAnalysis = EndedRunsTest;

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

}  // namespace
}  // namespace lagwatch::sdk
