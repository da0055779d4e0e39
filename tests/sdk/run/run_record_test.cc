// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/run_record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <memory>
#include <random>
#include <set>

#include "base/clock.h"
#include "sdk/run/run_writer.h"
#include "tests/sdk/run/run_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

using testing::FileContent;
using testing::InKilledChild;
using testing::PageParts;
using testing::RunPath;
using testing::SomeFacts;

const base::Uuid kHangOfRun = base::CreateUuidV7(1'700'000'000'000);

std::set<int> OpenFiles() {
  std::set<int> fds;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) fds.insert(fd);
  }
  return fds;
}

bool IsLocked(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bool is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0;
  close(fd);
  return is_locked;
}

class RunRecordFile : public ::testing::Test {
 protected:
  RunFile Read(RunRecord* record) const {
    return ParseRunRecord(FileContent(RunPath(directory_.path(), facts_)), record);
  }
  RunRecord Read() const {
    RunRecord record;
    EXPECT_EQ(Read(&record), RunFile::kRecord);
    return record;
  }
  std::unique_ptr<RunWriter> Create() {
    auto writer = RunWriter::Create(directory_.path(), facts_, &scene_);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return writer.ok() ? std::move(writer).value() : nullptr;
  }

  testing::ScopedTempDirectory directory_;
  TextCell scene_;
  RunFacts facts_ = SomeFacts();
};

TEST_F(RunRecordFile, TellsWhatTheRunIs) {
  auto writer = Create();
  RunRecord record = Read();
  EXPECT_EQ(record.run.session_id, facts_.session_id);
  EXPECT_NE(record.run.boot_id, base::Uuid{});
  EXPECT_EQ(record.run.boot_id, facts_.boot_id);
  EXPECT_EQ(record.run.pid, static_cast<uint32_t>(getpid()));
  EXPECT_NE(record.run.start_ticks, 0u);
  EXPECT_EQ(record.run.start_ticks, facts_.start_ticks);
  EXPECT_EQ(record.run.app, "editor");
  EXPECT_EQ(record.run.app_version, "2.3.1");
  EXPECT_EQ(record.run.user, "u-71");
  EXPECT_EQ(record.run.program, "run_record_tests");
  EXPECT_FALSE(record.run.build_id.empty());
  EXPECT_EQ(record.run.build_id, facts_.build_id);
  EXPECT_EQ(record.run.oom_group_path, facts_.oom_group_path);
  EXPECT_GE(record.seen_wall_ms, facts_.start_wall_ms);
  EXPECT_FALSE(record.was_in_hang());
  EXPECT_FALSE(record.has_ended);
  EXPECT_EQ(record.crash_signal, 0);
}

TEST_F(RunRecordFile, FollowsAHang) {
  auto writer = Create();
  scene_.Set("export");
  writer->HangBegan(kHangOfRun, "ui", 2 * base::kNsPerSecond);
  RunRecord begun = Read();
  EXPECT_EQ(begun.hang_id, kHangOfRun);
  EXPECT_EQ(begun.hang_loop, "ui");
  EXPECT_EQ(begun.scene, "export");
  EXPECT_GE(begun.hang_ns, 2 * base::kNsPerSecond);
  usleep(60'000);
  writer->Refresh();
  EXPECT_GE(Read().hang_ns, begun.hang_ns + 60 * base::kNsPerMs);
  EXPECT_EQ(Read().hang_begin_wall_ms, begun.hang_begin_wall_ms);
  writer->HangEnded(kHangOfRun);
  EXPECT_FALSE(Read().was_in_hang());
}

TEST_F(RunRecordFile, HasTheUseThatWasNotToldYet) {
  auto writer = Create();
  EXPECT_EQ(Read().usage_id, base::Uuid{});
  RunUsage usage{};
  usage.id = kHangOfRun;
  usage.begin_wall_ms = 1'700'000'000'000;
  usage.end_wall_ms = 1'700'000'002'000;
  usage.watched_ns = 2 * base::kNsPerSecond;
  usage.dispatches = 10;
  usage.untimed_dispatches = 1;
  usage.hangs = 2;
  usage.hang_ns = 3;
  usage.background_watched_ms = 4;
  usage.background_hangs = 5;
  usage.background_hang_ms = 6;
  std::memcpy(usage.loop, "ui", 2);
  usage.durations[3] = 4;
  usage.suppressed[1] = 5;
  writer->NoteUsage(usage);
  writer->Refresh();
  RunRecord record = Read();
  EXPECT_EQ(record.usage_id, kHangOfRun);
  EXPECT_EQ(record.usage_begin_wall_ms, usage.begin_wall_ms);
  EXPECT_EQ(record.usage_end_wall_ms, usage.end_wall_ms);
  EXPECT_EQ(record.usage_loop, "ui");
  EXPECT_EQ(record.usage.watched_ns, usage.watched_ns);
  EXPECT_EQ(record.usage.dispatches, 10u);
  EXPECT_EQ(record.usage.untimed_dispatches, 1u);
  EXPECT_EQ(record.usage.hangs, 2u);
  EXPECT_EQ(record.usage.hang_ns, 3);
  EXPECT_EQ(record.usage.background.watched_ns, 4 * base::kNsPerMs);
  EXPECT_EQ(record.usage.background.hangs, 5u);
  EXPECT_EQ(record.usage.background.hang_ns, 6 * base::kNsPerMs);
  EXPECT_EQ(record.usage.durations.counts[3], 4u);
  EXPECT_EQ(record.suppressed[1], 5u);
  // A little more is not worth a write; much more is.
  usage.watched_ns += base::kNsPerSecond;
  writer->NoteUsage(usage);
  writer->Refresh();
  EXPECT_EQ(Read().usage.watched_ns, 2 * base::kNsPerSecond);
  usage.watched_ns += base::kNsPerSecond;
  writer->NoteUsage(usage);
  writer->Refresh();
  EXPECT_EQ(Read().usage.watched_ns, 4 * base::kNsPerSecond);
  writer->NoteUsage({});
  EXPECT_EQ(Read().usage_id, base::Uuid{});
}

TEST_F(RunRecordFile, OfSeveralHangsTellsTheOneThatBeganFirst) {
  auto writer = Create();
  const base::Uuid other = base::CreateUuidV7(1'700'000'000'001);
  writer->HangBegan(kHangOfRun, "worker", 1 * base::kNsPerSecond);
  writer->HangBegan(other, "ui", 5 * base::kNsPerSecond);
  writer->HangBegan(other, "ui", 6 * base::kNsPerSecond);  // its next report
  EXPECT_EQ(Read().hang_loop, "ui");
  writer->HangEnded(other);
  EXPECT_EQ(Read().hang_id, kHangOfRun);
  writer->HangEnded(kHangOfRun);
  EXPECT_FALSE(Read().was_in_hang());
}

TEST_F(RunRecordFile, IsNotDisturbedByMoreHangsThanItKeeps) {
  auto writer = Create();
  std::vector<base::Uuid> hangs;
  for (int i = 0; i < 100; ++i) {
    hangs.push_back(base::CreateUuidV7(1'700'000'000'000 + i));
    writer->HangBegan(hangs.back(),
                      "a loop with a name that is longer than what the record has room for, really", 1);
  }
  EXPECT_EQ(Read().hang_id, hangs.front());
  EXPECT_EQ(Read().hang_loop.size(), 64u);
  for (const base::Uuid& hang : hangs) writer->HangEnded(hang);
  EXPECT_FALSE(Read().was_in_hang());
}

TEST_F(RunRecordFile, ALongGapBetweenRoundsWasNotTheProgramsTime) {
  auto writer = Create();
  writer->HangBegan(kHangOfRun, "ui", 2 * base::kNsPerSecond);
  usleep(1'500'000);  // stopped, as far as visible from outside
  writer->Refresh();
  EXPECT_EQ(Read().hang_ns, 3 * base::kNsPerSecond);
}

TEST_F(RunRecordFile, HasANewSceneAtTheNextRound) {
  auto writer = Create();
  scene_.Set("inbox");
  writer->Refresh();
  EXPECT_EQ(Read().scene, "inbox");
}

TEST_F(RunRecordFile, OutlivesAProcessThatIsKilled) {
  InKilledChild([&] {
    facts_.pid = static_cast<uint32_t>(getpid());
    auto writer = Create();
    writer->HangBegan(kHangOfRun, "ui", 7);
    static_cast<void>(writer.release());
  });
  EXPECT_EQ(Read().hang_id, kHangOfRun);
  EXPECT_FALSE(IsLocked(RunPath(directory_.path(), facts_)));
}

TEST_F(RunRecordFile, KeepsNoDescriptorButItsLock) {
  std::set<int> files = OpenFiles();
  auto writer = Create();
  EXPECT_EQ(OpenFiles(), files);
  EXPECT_EQ(IsLocked(RunPath(directory_.path(), facts_)), Read().keeps_lock);
  writer.reset();
  EXPECT_EQ(OpenFiles(), files);
  EXPECT_FALSE(IsLocked(RunPath(directory_.path(), facts_)));
}

TEST_F(RunRecordFile, MarksAreKept) {
  auto writer = Create();
  NoteRunAskedToStop();
  NoteRunCrashed(11);
  EXPECT_TRUE(Read().was_asked_to_stop);
  EXPECT_EQ(Read().crash_signal, 11);
  EXPECT_FALSE(Read().has_ended);
  NoteRunEnded();
  EXPECT_TRUE(Read().has_ended);
}

TEST_F(RunRecordFile, MarksWithoutARunAreHarmless) {
  NoteRunEnded();
  Create().reset();
  NoteRunEnded();
  EXPECT_FALSE(Read().has_ended);
}

TEST_F(RunRecordFile, AForkedChildDoesNotTouchItsParentsRecord) {
  auto writer = Create();
  std::string before = FileContent(RunPath(directory_.path(), facts_));
  InKilledChild([] {
    NoteRunEnded();
    NoteRunCrashed(11);
  });
  InKilledChild([&] {
    writer->AbandonInForkedChild();
    writer->HangBegan(kHangOfRun, "ui", 7);
    NoteRunAskedToStop();
    writer.reset();
  });
  EXPECT_EQ(FileContent(RunPath(directory_.path(), facts_)), before);
  EXPECT_EQ(IsLocked(RunPath(directory_.path(), facts_)), Read().keeps_lock);
}

TEST_F(RunRecordFile, AFileThatIsCutShortCostsTheRecordAndNoMore) {
  auto writer = Create();
  ASSERT_EQ(truncate(RunPath(directory_.path(), facts_).c_str(), 0), 0);
  writer->HangBegan(kHangOfRun, "ui", 7);
  writer->Refresh();
  writer->MarkEnded();
  NoteRunCrashed(11);
  writer.reset();
  RunRecord record;
  EXPECT_EQ(Read(&record), RunFile::kDamaged);
}

TEST_F(RunRecordFile, TakesEachRequestOfAnotherProcessOnce) {
  auto writer = Create();
  EXPECT_FALSE(writer->TakeDumpCall());
  auto call = [&] {
    std::fstream file(testing::RunPath(directory_.path(), facts_), std::ios::in | std::ios::out);
    const uint32_t asked = *writer->call_word() + 1;
    file.seekp(RunPage::kCallsAt + offsetof(RunCalls, dumps_asked));
    file.write(reinterpret_cast<const char*>(&asked), sizeof asked);
  };
  call();
  EXPECT_TRUE(writer->TakeDumpCall());
  EXPECT_FALSE(writer->TakeDumpCall());
  call();
  call();
  EXPECT_TRUE(writer->TakeDumpCall());
  EXPECT_FALSE(writer->TakeDumpCall());
  writer->AbandonInForkedChild();
  EXPECT_EQ(writer->call_word(), nullptr);
  EXPECT_FALSE(writer->TakeDumpCall());
}

TEST_F(RunRecordFile, ARunThatIsReplacedHasEndedWellUnlessThatFails) {
  auto writer = Create();
  NoteRunEnded();
  EXPECT_TRUE(Read().has_ended);
  NoteRunGoesOn();
  EXPECT_FALSE(Read().has_ended);
}

TEST_F(RunRecordFile, IsRefusedWhereItsDirectoryIsNone) {
  testing::ScopedTempDirectory elsewhere;
  ASSERT_EQ(symlink(elsewhere.path().c_str(), (directory_ / "runs").c_str()), 0);
  EXPECT_FALSE(RunWriter::Create(directory_.path(), facts_, &scene_).ok());
  EXPECT_TRUE(elsewhere.Files().empty());
  unlink((directory_ / "runs").c_str());
  testing::WriteContent(directory_ / "runs", "a file");
  EXPECT_FALSE(RunWriter::Create(directory_.path(), facts_, &scene_).ok());
}

TEST_F(RunRecordFile, LeavesNothingWhereThereIsNoRoom) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  sigaction(SIGXFSZ, &ignore, &before);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit tight = limit;
  tight.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &tight);
  bool is_ok = RunWriter::Create(directory_.path(), facts_, &scene_).ok();
  setrlimit(RLIMIT_FSIZE, &limit);
  sigaction(SIGXFSZ, &before, nullptr);
  EXPECT_FALSE(is_ok);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "runs"));
}

TEST_F(RunRecordFile, ManyRunsOfOneProcessTakeOnePage) {
  for (int i = 0; i < 100; ++i) {
    facts_.session_id = base::CreateUuidV7(i);
    auto writer = Create();
    writer->MarkEnded();
    EXPECT_TRUE(Read().has_ended);
  }
}

class RunRecordBytes : public ::testing::Test {
 protected:
  RunRecordBytes() {
    parts_.progress[0].sequence = 2;
    std::memcpy(parts_.progress[0].scene, "older", 5);
    parts_.progress[1].sequence = 3;
    std::memcpy(parts_.progress[1].scene, "newer", 5);
    parts_.FixChecksums();
  }
  static RunFile Parse(const std::string& bytes, RunRecord* record) {
    // No byte more than there is, so that a sanitizer sees a read past the end.
    std::unique_ptr<char[]> exact(new char[bytes.size()]);
    std::memcpy(exact.get(), bytes.data(), bytes.size());
    return ParseRunRecord({exact.get(), bytes.size()}, record);
  }
  static RunFile Parse(const std::string& bytes) {
    RunRecord record;
    return Parse(bytes, &record);
  }

  PageParts parts_{SomeFacts()};
};

TEST_F(RunRecordBytes, OfTwoCopiesTheLaterWholeOneCounts) {
  RunRecord record;
  EXPECT_EQ(Parse(parts_.Bytes(), &record), RunFile::kRecord);
  EXPECT_EQ(record.scene, "newer");
  // A write that was not finished.
  parts_.progress[1].scene[3] = 'x';
  EXPECT_EQ(Parse(parts_.Bytes(), &record), RunFile::kRecord);
  EXPECT_EQ(record.scene, "older");
  parts_.progress[0].scene[3] = 'x';
  EXPECT_EQ(Parse(parts_.Bytes(), &record), RunFile::kRecord);
  EXPECT_EQ(record.scene, "");
  EXPECT_EQ(record.seen_wall_ms, record.run.start_wall_ms);
}

TEST_F(RunRecordBytes, OthersFilesAreTheirs) {
  std::string bytes = parts_.Bytes();
  bytes[0] = 'X';
  EXPECT_EQ(Parse(bytes), RunFile::kForeign);
  EXPECT_EQ(Parse("some text"), RunFile::kForeign);
  EXPECT_EQ(Parse("LWR"), RunFile::kForeign);
  parts_.header.version = kMaskedRunVersion + 1;
  EXPECT_EQ(Parse(parts_.Bytes()), RunFile::kForeign);
}

TEST_F(RunRecordBytes, DamagedFilesOfOursAreOfNoUse) {
  EXPECT_EQ(Parse(""), RunFile::kDamaged);
  EXPECT_EQ(Parse(std::string(RunPage::kBytes, '\0')), RunFile::kDamaged);
  std::string bytes = parts_.Bytes();
  EXPECT_EQ(Parse(bytes.substr(0, 4)), RunFile::kDamaged);
  EXPECT_EQ(Parse(bytes.substr(0, RunPage::kBytes - 1)), RunFile::kDamaged);
  EXPECT_EQ(Parse(bytes + "x"), RunFile::kDamaged);
  bytes[200] ^= 1;
  EXPECT_EQ(Parse(bytes), RunFile::kDamaged);
}

// Right checksums do not make lengths right.
TEST_F(RunRecordBytes, TextsAndLengthsAreHeldToTheirFields) {
  RunHeader& header = parts_.header;
  header.build_id_size = UINT32_MAX;
  std::memset(header.app, 'a', sizeof header.app);
  std::memset(header.oom_group_path, 'p', sizeof header.oom_group_path);
  std::memset(parts_.progress[1].scene, 's', sizeof parts_.progress[1].scene);
  std::memset(parts_.progress[1].hang_loop, 'l', sizeof parts_.progress[1].hang_loop);
  parts_.progress[1].hang_ns = -5;
  parts_.marks.crash_signal = UINT32_MAX;
  parts_.FixChecksums();
  RunRecord record;
  ASSERT_EQ(Parse(parts_.Bytes(), &record), RunFile::kRecord);
  EXPECT_EQ(record.run.build_id.size(), sizeof header.build_id);
  EXPECT_EQ(record.run.app, std::string(sizeof header.app, 'a'));
  EXPECT_EQ(record.run.oom_group_path.size(), sizeof header.oom_group_path);
  EXPECT_EQ(record.scene, std::string(64, 's'));
  EXPECT_EQ(record.hang_loop, std::string(64, 'l'));
  EXPECT_EQ(record.hang_ns, 0);
  EXPECT_EQ(record.crash_signal, 64);
}

TEST_F(RunRecordBytes, HostileBytesAreHarmless) {
  std::mt19937 random(20240607);
  int records = 0;
  for (int round = 0; round < 20'000; ++round) {
    PageParts parts = parts_;
    auto* bytes = reinterpret_cast<char*>(&parts);
    for (int flips = 0; flips < 8; ++flips) bytes[random() % sizeof parts] = static_cast<char>(random());
    if (random() % 2 == 0) parts.header.magic = kRunMagic;
    if (random() % 2 == 0) parts.FixChecksums();
    std::string page = parts.Bytes();
    if (random() % 8 == 0) page.resize(random() % page.size());
    RunRecord record;
    if (Parse(page, &record) != RunFile::kRecord) continue;
    ++records;
    EXPECT_LE(record.run.build_id.size(), 32u);
    EXPECT_LE(record.scene.size(), 64u);
    EXPECT_GE(record.hang_ns, 0);
  }
  EXPECT_GT(records, 1000);
}

}  // namespace
}  // namespace lagwatch::sdk
