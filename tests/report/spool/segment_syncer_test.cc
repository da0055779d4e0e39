// SPDX-License-Identifier: Apache-2.0
// The records that are synced at once, and the waiting for a sync.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"
#include "tests/report/report_testing.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using lagwatch::testing::FaultEnv;
using namespace std::chrono_literals;

constexpr RecordNote kHangStart{.priority = policies::ReportPriority::kHang, .is_hang_start_or_end = true};

// Kept for ever: a thread that the disk holds may use it after its test.
FaultEnv& NewEnv() {
  static auto& all = *new std::deque<FaultEnv>;
  return all.emplace_back();
}

class SegmentSyncerTest : public ::testing::Test {
 protected:
  std::unique_ptr<SpoolWriter> NewWriter(SyncPolicy policy) {
    return SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(1), {}, policy).value();
  }
  // Waits until `writer` has synced, or failed to sync, `count` segments.
  static void WaitForSyncs(const SpoolWriter& writer, uint64_t count) {
    while (writer.counters().syncs + writer.counters().syncs_failed < count) std::this_thread::sleep_for(1ms);
  }
  // Until the disk was asked for so many.
  void WaitForSyncCalls(int count) {
    while (env_.CountOf(EnvCall::kSync) < count) std::this_thread::sleep_for(1ms);
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  FaultEnv& env_ = NewEnv();
};

TEST_F(SegmentSyncerTest, ByDefaultAHangsStartAndEndAreSyncedAndNothingElse) {
  auto writer = NewWriter(SyncPolicy::kHangStartAndEnd);
  EXPECT_TRUE(writer->Append(RecordType::kUsage, "not urgent"));
  writer->Seal();
  EXPECT_TRUE(writer->Append(RecordType::kReport, "a hang", kHangStart));
  WaitForSyncs(*writer, 1);
  EXPECT_EQ(env_.CountOf(EnvCall::kSync), 2) << "one segment and the directory";
  EXPECT_EQ(writer->counters().syncs, 1u);
}

TEST_F(SegmentSyncerTest, EachRecordIsSyncedWhenThatIsWanted) {
  auto writer = NewWriter(SyncPolicy::kEveryRecord);
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(writer->Append(RecordType::kUsage, "x"));
    WaitForSyncs(*writer, i);
  }
  EXPECT_EQ(writer->counters().syncs, 3u);
}

TEST_F(SegmentSyncerTest, NothingIsSyncedWhenThatIsNotWanted) {
  auto writer = NewWriter(SyncPolicy::kNever);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "a hang", kHangStart));
  writer.reset();
  EXPECT_EQ(env_.CountOf(EnvCall::kSync), 0);
}

TEST_F(SegmentSyncerTest, WhatWasAskedForIsDoneBeforeTheEnd) {
  for (int round = 0; round < 20; ++round) {
    const int before = env_.CountOf(EnvCall::kSync);
    auto writer = NewWriter(SyncPolicy::kHangStartAndEnd);
    EXPECT_TRUE(writer->Append(RecordType::kReport, "a hang", kHangStart));
    writer.reset();
    WaitForSyncCalls(before + 2);
  }
}

TEST_F(SegmentSyncerTest, ASegmentIsFoundUnderItsNewNameAndOneThatWasSentIsNoFailure) {
  env_.HoldSyncs();
  auto writer = NewWriter(SyncPolicy::kHangStartAndEnd);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "0", kHangStart));
  WaitForSyncCalls(1);
  for (const char* payload : {"1", "2"}) {
    writer->Seal();
    EXPECT_TRUE(writer->Append(RecordType::kReport, payload, kHangStart));
  }
  SpoolReader reader(&base::SystemEnv(), spool_.path());
  auto names = reader.List(SpoolReader::Include::kFinished);
  ASSERT_EQ(names->size(), 2u);
  EXPECT_TRUE(reader.Remove(names->at(1)).ok());
  env_.ReleaseSyncs();
  WaitForSyncs(*writer, 2);
  EXPECT_EQ(writer->counters().syncs, 2u) << "segment 0, sealed by then, and segment 2; segment 1 is gone";
  EXPECT_EQ(writer->counters().syncs_failed, 0u);
}

TEST_F(SegmentSyncerTest, ManyRequestsAreOneForADiskThatTakesItsTime) {
  env_.HoldSyncs();
  auto writer = NewWriter(SyncPolicy::kEveryRecord);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "first"));
  WaitForSyncCalls(1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(writer->Append(RecordType::kReport, "x"));
  env_.ReleaseSyncs();
  WaitForSyncs(*writer, 2);
  writer.reset();
  EXPECT_EQ(env_.CountOf(EnvCall::kSync), 4) << "the segment and its directory, twice";
}

// In a process of its own, because thread and syncer are left behind.
TEST_F(SegmentSyncerTest, ADiskThatHangsHoldsUpNeitherTheWriterNorItsEnd) {
  pid_t child = fork();
  if (child == 0) {
    env_.HoldSyncs();
    auto writer = NewWriter(SyncPolicy::kEveryRecord);
    bool is_written = true;
    for (int i = 0; i < 100; ++i) is_written = is_written && writer->Append(RecordType::kReport, "x");
    WaitForSyncCalls(1);
    writer.reset();
    _exit(is_written && env_.CountOf(EnvCall::kSync) == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(SegmentSyncerTest, ARefusedSyncIsCounted) {
  auto writer = NewWriter(SyncPolicy::kEveryRecord);
  env_.Fail(EnvCall::kSync, EIO);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "the file fails"));
  WaitForSyncs(*writer, 1);
  EXPECT_EQ(writer->counters().syncs_failed, 1u);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "all is well again"));
  WaitForSyncs(*writer, 2);
  EXPECT_EQ(writer->counters().syncs, 1u);
}

TEST_F(SegmentSyncerTest, AForkedChildEndsWithoutTheThreadThatItHasNot) {
  auto writer = NewWriter(SyncPolicy::kEveryRecord);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "before"));
  WaitForSyncs(*writer, 1);
  pid_t child = fork();
  if (child == 0) {
    writer->AbandonInForkedChild();
    writer.reset();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "after"));
  WaitForSyncs(*writer, 2);
}

}  // namespace
}  // namespace lagwatch::report
