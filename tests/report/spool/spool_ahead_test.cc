// SPDX-License-Identifier: Apache-2.0
// A writer whose thread has its own descriptor table, in a process that may no longer create or rename files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/process/quiet_thread.h"
#include "report/spool/segment_format.h"
#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"
#include "tests/report/report_testing.h"
#include "tests/testing/fault_env.h"
#include "tests/testing/process.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kAlways = 1'000'000;

class SpoolAhead : public ::testing::Test {
 protected:
  void SetUp() override {
    bool has_own_files = false;
    InOwnFiles([&] { has_own_files = base::HasOwnFiles(); });
    if (!has_own_files) GTEST_SKIP() << "this kernel shares all descriptors";
  }
  static void InOwnFiles(const std::function<void()>& body) { EXPECT_TRUE(base::RunWithOwnFiles(body)); }
  std::unique_ptr<SpoolWriter> NewWriter(const SpoolLimits& limits = {}) {
    auto writer = SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(1), limits);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return std::move(writer).value();
  }
  void DropPrivileges() {
    env_.Fail(EnvCall::kCreateLocked, EACCES, kAlways);
    env_.Fail(EnvCall::kRename, EACCES, kAlways);
    env_.Fail(EnvCall::kRemove, EACCES, kAlways);
  }
  std::vector<std::string> Payloads() {
    const SpoolReader reader(&base::SystemEnv(), spool_.path());
    std::vector<std::string> payloads;
    const auto names = reader.List(SpoolReader::Include::kFinished);
    if (!names.ok()) return {"cannot be listed"};
    for (const std::string& name : *names) {
      auto segment = reader.Read(name);
      if (!segment.ok()) return {"cannot be read"};
      for (OwnedRecord& record : segment->records) payloads.push_back(std::move(record.payload));
    }
    return payloads;
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  lagwatch::testing::FaultEnv env_;
};

TEST_F(SpoolAhead, GoesOnInTheSegmentThatWasOpenedBeforePrivilegesWereDropped) {
  auto writer = NewWriter();
  InOwnFiles([&] {
    writer->Prepare();
    DropPrivileges();
    for (const char* payload : {"first", "second", "third"}) {
      EXPECT_TRUE(writer->Append(RecordType::kReport, payload));
      writer->Seal();
      writer->Prepare();
    }
    EXPECT_THAT(Payloads(), IsEmpty()) << "its lock is held";
  });
  // The kernel frees the lock a moment after the thread has ended.
  EXPECT_TRUE(lagwatch::testing::WaitUntil([&] { return Payloads().size() == 3; }));
  EXPECT_THAT(Payloads(), ElementsAre("first", "second", "third"));
  const SpoolCounters counters = writer->counters();
  EXPECT_EQ(counters.records_written, 3u);
  EXPECT_EQ(counters.records_dropped, 0u);
  EXPECT_EQ(counters.refusals[static_cast<size_t>(SpoolRefusal::kForbidden)], 3u);
}

TEST_F(SpoolAhead, DropsAndCountsWhatDoesNotFitTheLastSegmentItMayWrite) {
  const std::string payload(100, 'x');
  auto writer = NewWriter({.segment_bytes = 3 * (sizeof(RecordHeader) + payload.size())});
  InOwnFiles([&] {
    writer->Prepare();
    DropPrivileges();
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(writer->Append(RecordType::kReport, payload), i < 3) << i;
      writer->Seal();
    }
  });
  EXPECT_TRUE(lagwatch::testing::WaitUntil([&] { return Payloads().size() == 3; }));
  EXPECT_EQ(writer->counters().records_dropped, 2u);
}

TEST_F(SpoolAhead, SealsAndBeginsSegmentsAsAlwaysWhileItMay) {
  auto writer = NewWriter();
  InOwnFiles([&] {
    writer->Prepare();
    for (const char* payload : {"first", "second"}) {
      EXPECT_TRUE(writer->Append(RecordType::kReport, payload));
      writer->Seal();
      writer->Prepare();
    }
    EXPECT_THAT(Payloads(), ElementsAre("first", "second"));
    EXPECT_EQ(writer->counters().segments_sealed, 2u);
    EXPECT_THAT(spool_.Files(), SizeIs(3));
    writer->Finish();
    EXPECT_THAT(spool_.Files(), SizeIs(2)) << "no empty segment stays";
  });
}

TEST_F(SpoolAhead, WritesWhenNoDescriptorIsLeft) {
  auto writer = NewWriter();
  InOwnFiles([&] {
    writer->Prepare();
    env_.Fail(EnvCall::kCreateLocked, EMFILE, kAlways);
    EXPECT_TRUE(writer->Append(RecordType::kReport, "first"));
    writer->Seal();
    EXPECT_FALSE(writer->Append(RecordType::kReport, "second"));
    EXPECT_EQ(writer->counters().refusals[static_cast<size_t>(SpoolRefusal::kOther)], 1u);
  });
  EXPECT_THAT(Payloads(), ElementsAre("first"));
}

TEST_F(SpoolAhead, OpensNothingAheadInTheProgramsTable) {
  auto writer = NewWriter();
  writer->Prepare();
  EXPECT_THAT(spool_.Files(), IsEmpty());
}

TEST_F(SpoolAhead, OpensNothingAheadAnyMoreAtTheEnd) {
  auto writer = NewWriter();
  InOwnFiles([&] {
    writer->Prepare();
    writer->FinishPreparing();
    writer->Prepare();
    EXPECT_THAT(spool_.Files(), IsEmpty());
    EXPECT_TRUE(writer->Append(RecordType::kReport, "in an exit handler"));
    writer->Finish();
  });
  EXPECT_THAT(Payloads(), ElementsAre("in an exit handler"));
}

// The descriptor's number is the program's in every other table.
TEST_F(SpoolAhead, IsDestroyedWithoutClosingTheProgramsDescriptor) {
  for (const bool has_record : {false, true}) {
    auto writer = NewWriter();
    InOwnFiles([&] {
      writer->Prepare();
      if (has_record) {
        EXPECT_TRUE(writer->Append(RecordType::kReport, "left open"));
      }
    });
    writer.reset();
    for (int fd = 0; fd < 3; ++fd) EXPECT_GE(fcntl(fd, F_GETFD), 0) << fd;
  }
  EXPECT_THAT(spool_.Files(), SizeIs(1)) << "the empty one is gone";
  EXPECT_THAT(Payloads(), ElementsAre("left open"));
}

TEST_F(SpoolAhead, IsAbandonedWithoutClosingTheProgramsDescriptor) {
  auto writer = NewWriter();
  InOwnFiles([&] { writer->Prepare(); });
  writer->AbandonInForkedChild();
  for (int fd = 0; fd < 3; ++fd) EXPECT_GE(fcntl(fd, F_GETFD), 0) << fd;
}

}  // namespace
}  // namespace lagwatch::report
