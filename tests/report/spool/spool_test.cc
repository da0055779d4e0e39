// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "report/spool/segment_format.h"
#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"
#include "tests/report/report_testing.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Include = SpoolReader::Include;

constexpr uid_t kSomebodyElse = 65534;

class Spool : public ::testing::Test {
 protected:
  std::unique_ptr<SpoolWriter> NewWriter(const SpoolLimits& limits = {}) {
    auto writer = SpoolWriter::Create(&base::SystemEnv(), spool_.path(), base::CreateUuidV7(1), limits);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return std::move(writer).value();
  }
  std::vector<std::string> List(Include include) {
    auto names = reader_.List(include);
    EXPECT_TRUE(names.ok()) << names.status().message();
    return std::move(names).value();
  }
  Segment Read(const std::string& name) {
    auto segment = reader_.Read(name);
    EXPECT_TRUE(segment.ok()) << segment.status().message();
    return std::move(segment).value();
  }
  std::vector<std::string> PayloadsIn(const std::vector<std::string>& names) {
    std::vector<std::string> payloads;
    for (const std::string& name : names) {
      for (OwnedRecord& record : Read(name).records) payloads.push_back(std::move(record.payload));
    }
    return payloads;
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  SpoolReader reader_{&base::SystemEnv(), spool_.path()};
};

std::string RecordBytes(std::string_view payload, RecordType type = RecordType::kReport) {
  std::string bytes(sizeof(RecordHeader), '\0');
  bytes.append(payload);
  FrameRecord(type, payload.size(), bytes.data());
  return bytes;
}

TEST_F(Spool, SealedRecordsAreReadBackInOrderWithTheirTypes) {
  auto writer = NewWriter();
  EXPECT_TRUE(writer->Append(RecordType::kReport, "first"));
  EXPECT_TRUE(writer->Append(RecordType::kHangEnd, std::string_view("\0second", 7)));
  EXPECT_TRUE(writer->Append(RecordType::kReport, ""));
  writer->Seal();
  auto names = List(Include::kFinished);
  ASSERT_THAT(names, SizeIs(1));
  Segment segment = Read(names[0]);
  ASSERT_THAT(segment.records, SizeIs(3));
  EXPECT_EQ(segment.records[0].payload, "first");
  EXPECT_EQ(segment.records[1].type, RecordType::kHangEnd);
  EXPECT_EQ(segment.records[1].payload, std::string_view("\0second", 7));
  EXPECT_EQ(segment.records[2].payload, "");
  EXPECT_EQ(segment.skipped_bytes, 0u);
  EXPECT_EQ(writer->counters().records_written, 3u);
  EXPECT_EQ(writer->counters().segments_sealed, 1u);
}

// The example of docs/spool_format.md, byte for byte: other versions' segments must stay readable.
TEST_F(Spool, AReportThatIsWrittenAgainReplacesTheFirstOne) {
  const auto report = [](char id, const std::string& more) {
    return std::string("\x0a\x10") + std::string(16, id) + more;
  };
  const auto sealed = [](char type, char id, const std::string& more) {
    return std::string("\x08") + type + "\x12\x10" + std::string(16, id) + more;
  };
  auto writer = NewWriter();
  for (const std::string& payload :
       {report('a', ""), report('b', ""), report('b', "with peers"), report('c', "")})
    EXPECT_TRUE(writer->Append(RecordType::kReport, payload));
  for (const std::string& payload : {sealed(1, 'd', ""), sealed(1, 'd', "with peers"),
                                     sealed(2, 'd', "its end"), sealed(2, 'd', "no report")})
    EXPECT_TRUE(writer->Append(RecordType::kSealed, payload));
  writer->Seal();
  EXPECT_THAT(
      PayloadsIn(List(Include::kFinished)),
      ElementsAre(report('a', ""), report('b', "with peers"), report('c', ""), sealed(1, 'd', "with peers"),
                  sealed(2, 'd', "its end"), sealed(2, 'd', "no report")));
}

TEST_F(Spool, ARecordHasTheDocumentedBytes) {
  const std::string page = lagwatch::testing::ReadFile(LAGWATCH_SPOOL_FORMAT_FILE);
  std::istringstream example(page.substr(page.find("\n    4c 57 53 31")));
  std::string documented;
  std::string line;
  std::getline(example, line);
  std::getline(example, line);
  std::istringstream numbers(line);
  for (unsigned byte = 0; numbers >> std::hex >> byte;) documented += static_cast<char>(byte);
  EXPECT_EQ(RecordBytes("lag", RecordType::kHangEnd), documented);
  EXPECT_EQ(documented.size(), 19u);
}

TEST_F(Spool, ALiveSegmentIsListedOnlyOnRequest) {
  auto writer = NewWriter();
  writer->Append(RecordType::kReport, "still being written");
  EXPECT_THAT(List(Include::kFinished), IsEmpty());
  EXPECT_THAT(PayloadsIn(List(Include::kLiveToo)), ElementsAre("still being written"));
}

// Else a record would be read under both names of its segment.
TEST_F(Spool, ASegmentSealedAfterItWasListedIsNotFoundUnderItsOldName) {
  auto writer = NewWriter();
  writer->Append(RecordType::kReport, "a");
  auto names = List(Include::kLiveToo);
  writer->Seal();
  EXPECT_EQ(reader_.Read(names.at(0)).status().code(), base::StatusCode::kNotFound);
}

TEST_F(Spool, SegmentsAreSealedBeforeTheyOutgrowTheirLimit) {
  auto writer = NewWriter({.segment_bytes = 3 * (sizeof(RecordHeader) + 100), .record_bytes = 1000});
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(writer->Append(RecordType::kReport, std::string(100, 'a' + i)));
  EXPECT_THAT(List(Include::kFinished), SizeIs(2));
  writer->Seal();
  auto names = List(Include::kFinished);
  ASSERT_THAT(names, SizeIs(3));
  EXPECT_THAT(Read(names[0]).records, SizeIs(3));
  EXPECT_EQ(Read(names[2]).records.at(0).payload, std::string(100, 'g'));
}

TEST_F(Spool, ARecordLongerThanASegmentHasOneOfItsOwn) {
  auto writer = NewWriter({.segment_bytes = 64, .record_bytes = 1000});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(writer->Append(RecordType::kReport, std::string(900, 'a' + i)));
  EXPECT_THAT(PayloadsIn(List(Include::kLiveToo)),
              ElementsAre(std::string(900, 'a'), std::string(900, 'b'), std::string(900, 'c')));
}

TEST_F(Spool, ATooLongRecordIsDroppedAndCounted) {
  auto writer = NewWriter({.record_bytes = 10});
  EXPECT_FALSE(writer->Append(RecordType::kReport, "eleven char"));
  EXPECT_TRUE(writer->Append(RecordType::kReport, "ten charac"));
  EXPECT_EQ(writer->counters().records_dropped, 1u);
  EXPECT_THAT(PayloadsIn(List(Include::kLiveToo)), ElementsAre("ten charac"));
}

TEST_F(Spool, WhatNobodySendsMakesRoomTheLeastImportantAndOldestFirst) {
  constexpr size_t kPayloadBytes = 1000;
  constexpr size_t kSegmentBytes = sizeof(RecordHeader) + kPayloadBytes;
  auto writer = NewWriter({.unsent_bytes = 8 * kSegmentBytes});
  auto append = [&](char name, policies::ReportPriority priority) {
    EXPECT_TRUE(
        writer->Append(RecordType::kReport, std::string(kPayloadBytes, name), {.priority = priority}));
    writer->Seal();
  };
  using policies::ReportPriority;
  append('a', ReportPriority::kHang);
  append('b', ReportPriority::kSlow);
  append('c', ReportPriority::kAnr);
  append('d', ReportPriority::kSlow);
  for (char name : {'e', 'f', 'g', 'h'}) append(name, ReportPriority::kHang);
  EXPECT_THAT(List(Include::kFinished), SizeIs(8)) << "they just fit";
  append('i', ReportPriority::kHang);
  auto first_letters = [&] {
    std::string letters;
    for (const std::string& payload : PayloadsIn(List(Include::kFinished))) letters += payload[0];
    return letters;
  };
  EXPECT_EQ(first_letters(), "acefghi");
  EXPECT_EQ(writer->counters().reports_removed, 2u);
  // Segments sent meanwhile take no other's place.
  for (const std::string& name : List(Include::kFinished)) EXPECT_TRUE(reader_.Remove(name).ok());
  for (char name : {'j', 'k', 'l', 'm'}) append(name, ReportPriority::kSlow);
  EXPECT_EQ(first_letters(), "jklm");
  EXPECT_EQ(writer->counters().reports_removed, 2u);
}

TEST_F(Spool, AWriterWithoutRecordsLeavesNoFile) {
  NewWriter()->Seal();
  EXPECT_THAT(spool_.Files(), IsEmpty());
}

TEST_F(Spool, TheDirectoryIsMadeAndKeptPrivate) {
  std::string nested = spool_ / "a/b/c";
  auto writer = SpoolWriter::Create(&base::SystemEnv(), nested, base::CreateUuidV7(1), {});
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(std::filesystem::status(nested).permissions(), std::filesystem::perms::owner_all);
  auto refused = SpoolWriter::Create(&base::SystemEnv(), std::string(5000, 'x'), base::CreateUuidV7(1), {});
  EXPECT_EQ(refused.status().code(), base::StatusCode::kInvalid);
}

TEST_F(Spool, AForkedChildLeavesTheSegmentToItsParent) {
  auto writer = NewWriter();
  writer->Append(RecordType::kReport, "before");
  pid_t child = fork();
  if (child == 0) {
    writer->AbandonInForkedChild();
    writer->Seal();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(writer->Append(RecordType::kReport, "after"));
  EXPECT_THAT(List(Include::kFinished), IsEmpty());
  EXPECT_THAT(PayloadsIn(List(Include::kLiveToo)), ElementsAre("before", "after"));
}

TEST_F(Spool, ForeignFilesAndLinksAreIgnored) {
  lagwatch::testing::ScopedTempDirectory elsewhere;
  std::string segment_name = base::ToString(base::CreateUuidV7(1)) + "-000000.seg";
  lagwatch::testing::WriteFile(elsewhere / segment_name, RecordBytes("not ours"));
  std::filesystem::create_symlink(elsewhere / segment_name, spool_ / segment_name);
  for (const char* name : {"README", "-000000.seg", "x.seg", "00000000-0000-7000-8000-000000000000-.seg",
                           "00000000-0000-7000-8000-000000000000-000000.rejected",
                           "00000000-0000-7000-8000-000000000000-000000.new",
                           "00000000-0000-7000-8000-000000000000-000000.seg.bak"}) {
    lagwatch::testing::WriteFile(spool_ / name, RecordBytes("foreign"));
  }
  size_t refused = 0;
  EXPECT_THAT(*reader_.List(Include::kLiveToo, &refused), IsEmpty());
  EXPECT_EQ(refused, 1u);
  EXPECT_EQ(reader_.Read(segment_name).status().code(), base::StatusCode::kInvalid);
}

TEST_F(Spool, SomebodyElsesSegmentsAreNotRead) {
  auto writer = NewWriter();
  writer->Append(RecordType::kReport, "ours");
  writer->Seal();
  const std::string theirs = base::ToString(base::CreateUuidV7(2)) + "-000000.seg";
  lagwatch::testing::WriteFile(spool_ / theirs, RecordBytes("theirs"));
  if (chown((spool_ / theirs).c_str(), kSomebodyElse, kSomebodyElse) != 0)
    GTEST_SKIP() << "only root gives files away";
  size_t refused = 0;
  auto names = reader_.List(Include::kLiveToo, &refused);
  EXPECT_THAT(PayloadsIn(*names), ElementsAre("ours"));
  EXPECT_EQ(refused, 1u);
  EXPECT_EQ(reader_.Read(theirs).status().code(), base::StatusCode::kInvalid);
  // A reader of another user's spool sees the files of that user.
  ASSERT_EQ(chown(spool_.path().c_str(), kSomebodyElse, kSomebodyElse), 0);
  EXPECT_THAT(PayloadsIn(*reader_.List(Include::kLiveToo, &refused)), ElementsAre("theirs"));
}

TEST_F(Spool, ADirectoryThatOthersCouldChangeIsRefusedWithAdvice) {
  auto refusal_of = [](const std::string& directory) {
    auto writer = SpoolWriter::Create(&base::SystemEnv(), directory, base::CreateUuidV7(1), {});
    EXPECT_EQ(writer.status().code(), writer.ok() ? base::StatusCode::kOk : base::StatusCode::kInvalid);
    return writer.status().message();
  };
  EXPECT_EQ(refusal_of(spool_.path() + "/"), "");
  lagwatch::testing::ScopedTempDirectory elsewhere;
  const std::string link = elsewhere / "link";
  std::filesystem::create_directory_symlink(spool_.path(), link);
  EXPECT_THAT(refusal_of(link), HasSubstr("is a symbolic link"));
  EXPECT_THAT(refusal_of(link + "/"), HasSubstr("is a symbolic link"));
  for (mode_t mode : {0720, 0702, 01777}) {
    ASSERT_EQ(chmod(spool_.path().c_str(), mode), 0);
    EXPECT_THAT(refusal_of(spool_.path()), HasSubstr("chmod go-w " + spool_.path()));
  }
  ASSERT_EQ(chmod(spool_.path().c_str(), 0755), 0);
  EXPECT_EQ(refusal_of(spool_.path()), "");
  if (chown(spool_.path().c_str(), kSomebodyElse, kSomebodyElse) != 0) return;
  EXPECT_THAT(refusal_of(spool_.path()), HasSubstr("belongs to another user"));
}

TEST_F(Spool, ASegmentThatIsSealedWhileItIsListedIsListed) {
  auto writer = SpoolWriter::Create(&base::SystemEnv(), spool_.path(), base::CreateUuidV7(1), {}).value();
  EXPECT_TRUE(writer->Append(RecordType::kReport, "kept"));
  lagwatch::testing::FaultEnv env;
  env.Fail(lagwatch::testing::EnvCall::kLook, ENOENT, 2);  // of the directory, and of the segment
  auto names = SpoolReader(&env, spool_.path()).List(Include::kLiveToo);
  EXPECT_EQ(names.ok() ? names->size() : 0, 1u);
}

TEST_F(Spool, AMissingDirectoryOrSegmentIsNotFound) {
  SpoolReader nowhere(&base::SystemEnv(), spool_ / "nowhere");
  EXPECT_EQ(nowhere.List(Include::kFinished).status().code(), base::StatusCode::kNotFound);
  EXPECT_EQ(reader_.Read("gone.seg").status().code(), base::StatusCode::kNotFound);
  EXPECT_TRUE(reader_.Remove("gone.seg").ok());
}

TEST(SpoolDamage, ATruncatedTailCostsOnlyTheLastRecord) {
  std::string bytes = RecordBytes("one") + RecordBytes("two") + RecordBytes("six");
  size_t record_bytes = RecordBytes("one").size();
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    Segment segment = ParseSegment(std::string_view(bytes).substr(0, cut));
    size_t whole = cut / record_bytes;
    ASSERT_EQ(segment.records.size(), whole) << cut;
    EXPECT_EQ(segment.skipped_bytes, cut - whole * record_bytes) << cut;
  }
}

TEST(SpoolDamage, AFlippedBitCostsOnlyTheRecordThatHoldsIt) {
  const std::vector<std::string> payloads = {"the first", "the second", "the third"};
  std::string bytes;
  for (const std::string& payload : payloads) bytes += RecordBytes(payload);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Segment segment = ParseSegment(damaged);
    ASSERT_EQ(segment.records.size(), 2u) << bit;
    for (const OwnedRecord& record : segment.records)
      EXPECT_THAT(payloads, ::testing::Contains(record.payload));
    EXPECT_GT(segment.skipped_bytes, 0u);
  }
}

TEST(SpoolDamage, AFileOfNothingButDamagedRecordsIsGivenUpSoon) {
  std::string damaged = RecordBytes(std::string(48, 'x'));
  damaged.back() = 'y';
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += damaged;
  Segment segment = ParseSegment(bytes + RecordBytes("too late"));
  EXPECT_THAT(segment.records, IsEmpty());
  EXPECT_EQ(segment.skipped_bytes, bytes.size() + RecordBytes("too late").size());
}

TEST(SpoolDamage, WhatWasSkippedIsSaid) {
  EXPECT_EQ(DescribeSkipped(ParseSegment(RecordBytes("one"))), "nothing skipped");
  std::string damaged = RecordBytes("two");
  damaged.back() = 'x';
  const std::string bytes = RecordBytes("one") + "stray" + damaged + RecordBytes("six").substr(0, 18);
  Segment segment = ParseSegment(bytes);
  EXPECT_EQ(segment.damaged_records, 1u);
  EXPECT_EQ(segment.cut_records, 1u);
  EXPECT_EQ(DescribeSkipped(segment), "42 bytes skipped: 1 wrong checksum, 1 unfinished record");
  EXPECT_EQ(DescribeSkipped(ParseSegment("LW")), "2 bytes skipped: 1 unfinished record");
  EXPECT_EQ(DescribeSkipped(ParseSegment(std::string(1, '\0'))), "1 byte skipped");
}

std::string NumberedPayload(int number) {
  return std::to_string(number) + ":" + std::string(static_cast<size_t>(number) * 37 % 5000, 'p');
}

// Appends until it is killed, and reports each record to the parent after it is on disk.
[[noreturn]] void AppendForEver(SpoolWriter* writer, int acknowledge_fd) {
  for (int number = 0;; ++number) {
    if (number % 100 == 99) writer->Seal();
    if (!writer->Append(RecordType::kReport, NumberedPayload(number))) _exit(1);
    if (write(acknowledge_fd, &number, sizeof number) != sizeof number) _exit(1);
  }
}

TEST_F(Spool, EveryAcknowledgedRecordOutlivesAKill) {
  auto writer = NewWriter();
  int acknowledgements[2];
  ASSERT_EQ(pipe(acknowledgements), 0);
  pid_t child = fork();
  if (child == 0) AppendForEver(writer.get(), acknowledgements[1]);
  close(acknowledgements[1]);
  int last = -1;
  while (last < 250)
    ASSERT_EQ(read(acknowledgements[0], &last, sizeof last), static_cast<ssize_t>(sizeof last));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (read(acknowledgements[0], &last, sizeof last) == sizeof last) {
  }
  close(acknowledgements[0]);

  std::vector<std::string> payloads = PayloadsIn(List(Include::kFinished));
  ASSERT_GT(payloads.size(), static_cast<size_t>(last));
  ASSERT_LE(payloads.size(), static_cast<size_t>(last) + 2);
  for (size_t i = 0; i < payloads.size(); ++i) ASSERT_EQ(payloads[i], NumberedPayload(static_cast<int>(i)));
}

}  // namespace
}  // namespace lagwatch::report
