// SPDX-License-Identifier: Apache-2.0
// The spool on a full or failing disk: first by script, then for real.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"
#include "tests/report/report_testing.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct SpoolContent {
  std::vector<std::string> payloads;
  size_t skipped_bytes = 0;
};

SpoolContent ContentOf(const std::string& directory) {
  SpoolReader reader(&base::SystemEnv(), directory);
  SpoolContent content;
  auto names = reader.List(SpoolReader::Include::kLiveToo);
  for (const std::string& name : *names) {
    auto segment = reader.Read(name);
    for (OwnedRecord& record : segment->records) content.payloads.push_back(record.payload);
    content.skipped_bytes += segment->skipped_bytes;
  }
  return content;
}

class ManualClock final : public base::Clock {
 public:
  int64_t MonoNs() const override { return mono_ns; }
  int64_t BootNs() const override { return mono_ns; }
  int64_t WallMs() const override { return mono_ns / base::kNsPerMs; }

  int64_t mono_ns = base::kNsPerSecond;
};

class SpoolFaults : public ::testing::Test {
 protected:
  lagwatch::testing::ScopedTempDirectory spool_;
  lagwatch::testing::FaultEnv env_;
  std::unique_ptr<SpoolWriter> writer_ =
      SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(1), SpoolLimits{}).value();
};

TEST_F(SpoolFaults, AFullDiskDropsARecordAndKeepsTheOthers) {
  EXPECT_TRUE(writer_->Append(RecordType::kReport, "one"));
  env_.Fail(EnvCall::kAppend, ENOSPC, 2);
  EXPECT_FALSE(writer_->Append(RecordType::kReport, "two"));
  EXPECT_FALSE(writer_->Append(RecordType::kReport, "three"));
  EXPECT_TRUE(writer_->Append(RecordType::kReport, "four"));
  EXPECT_THAT(ContentOf(spool_.path()).payloads, ElementsAre("one", "four"));
  EXPECT_EQ(writer_->counters().records_written, 2u);
  EXPECT_EQ(writer_->counters().records_dropped, 2u);
}

TEST_F(SpoolFaults, AShortWriteLeavesNoTrace) {
  for (size_t written_bytes : {0, 1, 15, 16, 18}) {
    env_.CutNextAppend(written_bytes);
    EXPECT_FALSE(writer_->Append(RecordType::kReport, "cut short"));
    EXPECT_TRUE(writer_->Append(RecordType::kReport, "whole"));
  }
  SpoolContent content = ContentOf(spool_.path());
  EXPECT_THAT(content.payloads, SizeIs(5));
  EXPECT_EQ(content.skipped_bytes, 0u);
}

TEST_F(SpoolFaults, AShortWriteThatCannotBeTakenBackEndsItsSegment) {
  EXPECT_TRUE(writer_->Append(RecordType::kReport, "one"));
  env_.CutNextAppend(18);
  env_.Fail(EnvCall::kTruncate, EIO);
  EXPECT_FALSE(writer_->Append(RecordType::kReport, "two"));
  EXPECT_TRUE(writer_->Append(RecordType::kReport, "three"));
  SpoolContent content = ContentOf(spool_.path());
  EXPECT_THAT(content.payloads, ElementsAre("one", "three"));
  EXPECT_EQ(content.skipped_bytes, 18u);
  EXPECT_THAT(spool_.Files(), SizeIs(2));
}

TEST_F(SpoolFaults, ASegmentThatCannotBeMadeIsTriedAgain) {
  env_.Fail(EnvCall::kCreateLocked, EMFILE);
  EXPECT_FALSE(writer_->Append(RecordType::kReport, "no descriptor"));
  env_.Fail(EnvCall::kRename, EIO);
  EXPECT_FALSE(writer_->Append(RecordType::kReport, "no name"));
  EXPECT_THAT(spool_.Files(), IsEmpty());
  EXPECT_TRUE(writer_->Append(RecordType::kReport, "fine"));
  EXPECT_THAT(ContentOf(spool_.path()).payloads, ElementsAre("fine"));
}

TEST_F(SpoolFaults, WhatTheSystemRefusedIsCountedByItsKind) {
  struct Case {
    int error;
    SpoolRefusal refusal;
  };
  const Case cases[] = {{ENOSPC, SpoolRefusal::kNoSpace}, {EDQUOT, SpoolRefusal::kNoSpace},
                        {EFBIG, SpoolRefusal::kNoSpace},  {EROFS, SpoolRefusal::kForbidden},
                        {EIO, SpoolRefusal::kIo},         {EMFILE, SpoolRefusal::kOther}};
  for (const Case& one : cases) {
    const auto place = static_cast<size_t>(one.refusal);
    const uint64_t before = writer_->counters().refusals[place];
    env_.Fail(EnvCall::kAppend, one.error);
    EXPECT_FALSE(writer_->Append(RecordType::kReport, "refused"));
    EXPECT_EQ(writer_->counters().refusals[place], before + 1) << one.error;
    EXPECT_TRUE(writer_->Append(RecordType::kReport, "fine"));
  }
}

TEST_F(SpoolFaults, ASegmentThatCanNeverBeMadeIsTriedRarely) {
  lagwatch::testing::ScopedTempDirectory spool;
  ManualClock clock;
  auto writer =
      SpoolWriter::Create(&env_, spool.path(), base::CreateUuidV7(1), {}, SyncPolicy::kNever, &clock).value();
  env_.Fail(EnvCall::kCreateLocked, EROFS, 1'000'000);
  auto tries_of_an_hour = [&] {
    const int before = env_.CountOf(EnvCall::kCreateLocked);
    for (int second = 0; second < 3600; ++second) {
      EXPECT_FALSE(writer->Append(RecordType::kReport, "x"));
      clock.mono_ns += base::kNsPerSecond;
    }
    return env_.CountOf(EnvCall::kCreateLocked) - before;
  };
  EXPECT_THAT(tries_of_an_hour(), ::testing::AllOf(::testing::Ge(60), ::testing::Le(70)));
  EXPECT_EQ(writer->counters().records_dropped, 3600u);
  // At once when something has changed, and as ever when all is well again.
  env_.Fail(EnvCall::kCreateLocked, 0, 0);
  EXPECT_FALSE(writer->Append(RecordType::kReport, "x"));
  ASSERT_EQ(chmod(spool.path().c_str(), 0750), 0);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "fine"));
  EXPECT_THAT(ContentOf(spool.path()).payloads, ElementsAre("fine"));
}

TEST_F(SpoolFaults, ASegmentThatCannotBeSealedIsFinishedAllTheSame) {
  writer_->Append(RecordType::kReport, "one");
  env_.Fail(EnvCall::kRename, EIO);
  writer_->Seal();
  EXPECT_EQ(writer_->counters().segments_sealed, 0u);
  SpoolReader reader(&env_, spool_.path());
  EXPECT_THAT(*reader.List(SpoolReader::Include::kFinished), SizeIs(1));
  EXPECT_TRUE(writer_->Append(RecordType::kReport, "two"));
  EXPECT_THAT(ContentOf(spool_.path()).payloads, ElementsAre("one", "two"));
}

TEST_F(SpoolFaults, ADirectoryThatCannotBeMadeIsSaid) {
  env_.Fail(EnvCall::kCreateDirectories, EACCES);
  auto writer = SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(1), {});
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.status().message(), ::testing::HasSubstr("Permission denied"));
}

TEST_F(SpoolFaults, ReadersSayWhatTheSystemRefused) {
  SpoolReader reader(&env_, spool_.path());
  env_.Fail(EnvCall::kList, EACCES);
  EXPECT_EQ(reader.List(SpoolReader::Include::kFinished).status().code(), base::StatusCode::kIo);
  env_.Fail(EnvCall::kReadFile, EIO);
  EXPECT_EQ(reader.Read("x.seg").status().code(), base::StatusCode::kIo);
  env_.Fail(EnvCall::kRemove, EROFS);
  EXPECT_EQ(reader.Remove("x.seg").code(), base::StatusCode::kIo);
}

constexpr int kSkipped = 77;

// Runs `body` in a child process, whose limits and mounts end with it; its exit status.
int ExitStatusOfChild(const std::function<int()>& body) {
  pid_t child = fork();
  if (child == 0) _exit(body());
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Appends records of `payload_bytes` until one is dropped, lets `make_room`, appends one more;
// checks the content.
bool SurvivesAFullDisk(const std::string& directory, size_t payload_bytes,
                       const std::function<bool()>& make_room) {
  auto writer = SpoolWriter::Create(&base::SystemEnv(), directory, base::CreateUuidV7(1), SpoolLimits{});
  if (!writer.ok()) return false;
  std::string payload(payload_bytes, 'p');
  constexpr size_t kMoreThanFit = 1000;
  size_t written = 0;
  while (written < kMoreThanFit && (*writer)->Append(RecordType::kReport, payload)) ++written;
  bool was_full = written > 0 && written < kMoreThanFit;
  bool goes_on = make_room() && (*writer)->Append(RecordType::kReport, "after");
  SpoolContent content = ContentOf(directory);
  return was_full && goes_on && content.skipped_bytes == 0 && content.payloads.size() == written + 1 &&
         content.payloads.back() == "after";
}

TEST(SpoolOnARealDisk, AFileSizeLimitCutsAWriteShortAndNothingIsLost) {
  lagwatch::testing::ScopedTempDirectory spool;
  EXPECT_EQ(ExitStatusOfChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              rlimit limit;
              getrlimit(RLIMIT_FSIZE, &limit);
              auto set_limit = [&](rlim_t bytes) {
                rlimit wanted{bytes, limit.rlim_max};
                return setrlimit(RLIMIT_FSIZE, &wanted) == 0;
              };
              bool is_fine = set_limit(10'000) && SurvivesAFullDisk(spool.path(), 3'000, [&] {
                               return set_limit(limit.rlim_max);
                             });
              return is_fine ? 0 : 1;
            }),
            0);
}

TEST(SpoolOnARealDisk, AFullFileSystemDropsRecordsAndNothingIsLost) {
  lagwatch::testing::ScopedTempDirectory mount_point;
  int status = ExitStatusOfChild([&] {
    bool is_apart = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!is_apart || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("spool", mount_point.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      return kSkipped;
    }
    std::string ballast = mount_point / "ballast";
    lagwatch::testing::WriteFile(ballast, std::string(20'000, 'b'));
    bool is_fine =
        SurvivesAFullDisk(mount_point / "spool", 3'000, [&] { return std::filesystem::remove(ballast); });
    return is_fine ? 0 : 1;
  });
  if (status == kSkipped) GTEST_SKIP() << "this system lets us mount nothing";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lagwatch::report
