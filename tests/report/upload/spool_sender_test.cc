// SPDX-License-Identifier: Apache-2.0
#include "report/upload/spool_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "report/format/losses.h"
#include "report/spool/spool_writer.h"
#include "tests/report/report_testing.h"
#include "tests/report/upload/scripted_transport.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using lagwatch::testing::ScriptedTransport;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using AnswerKind = UploadAnswer::Kind;
using Payloads = ScriptedTransport::Payloads;

class SpoolSenderTest : public ::testing::Test {
 protected:
  // One sealed segment.
  void Spool(const Payloads& payloads) {
    for (const std::string& payload : payloads) ASSERT_TRUE(writer_->Append(RecordType::kReport, payload));
    writer_->Seal();
  }
  // Not the ledger and its lock.
  Payloads SegmentFiles() const {
    Payloads names = spool_.Files();
    std::erase_if(names, [](const std::string& name) { return name.starts_with("ledger"); });
    return names;
  }
  AnswerKind UploadOnce() {
    auto answer = sender_.UploadOnce();
    EXPECT_TRUE(answer.has_value());
    return answer->kind;
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  lagwatch::testing::FaultEnv env_;
  std::unique_ptr<SpoolWriter> writer_ =
      SpoolWriter::Create(&base::SystemEnv(), spool_.path(), base::CreateUuidV7(1),
                          {.segment_bytes = 64 << 20})
          .value();
  ScriptedTransport transport_;
  lagwatch::testing::NoNames namer_;
  SpoolSender sender_{&env_, spool_.path(), &transport_, &namer_};
};

TEST_F(SpoolSenderTest, SeveralSegmentsGoInOneRequestOldestFirstAndAreRemoved) {
  Spool({"a", "b"});
  Spool({"c"});
  EXPECT_EQ(sender_.CountSegmentsLeft(), 2u);
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.posts, ElementsAre(ElementsAre("a", "b", "c")));
  EXPECT_THAT(SegmentFiles(), IsEmpty());
  EXPECT_EQ(sender_.stats().reports_delivered, 3u);
  EXPECT_FALSE(sender_.UploadOnce().has_value());
  EXPECT_THAT(transport_.posts, SizeIs(1));
}

TEST_F(SpoolSenderTest, AnUnfinishedSegmentIsLeftToItsWriter) {
  ASSERT_TRUE(writer_->Append(RecordType::kReport, "live"));
  EXPECT_FALSE(sender_.UploadOnce().has_value());
  EXPECT_THAT(SegmentFiles(), ElementsAre(EndsWith(".open")));
}

TEST_F(SpoolSenderTest, AMissingDirectoryIsNothingToSend) {
  SpoolSender nowhere(&env_, spool_ / "nowhere", &transport_, &namer_);
  EXPECT_FALSE(nowhere.UploadOnce().has_value());
}

TEST_F(SpoolSenderTest, NoRequestHoldsMoreThan200Records) {
  Payloads all;
  for (int i = 0; i < 450; ++i) all.push_back("record " + std::to_string(i));
  Spool(all);
  Spool({"another segment"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_EQ(transport_.stored, all);
  for (const Payloads& post : transport_.posts) EXPECT_LE(post.size(), 200u);
  EXPECT_EQ(sender_.CountSegmentsLeft(), 1u);
}

TEST_F(SpoolSenderTest, NoRequestHoldsMoreThan1MiB) {
  Payloads big(6, std::string(250'000, 'x'));
  Spool(big);
  for (int i = 0; i < 6; ++i) Spool({std::string(250'000, 'y')});
  while (sender_.CountSegmentsLeft() > 0) EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, SizeIs(12));
  EXPECT_EQ(transport_.posts.size(), 4u);  // 4 + 2 of the large segment, then 4 + 2
  constexpr size_t kFramingBytes = 1000;
  for (size_t bytes : transport_.batch_bytes) EXPECT_LE(bytes, (1u << 20) + kFramingBytes);
}

ScriptedTransport::Script RejectIfContaining(const std::string& guilty) {
  return [guilty](const Payloads& payloads) {
    bool is_guilty = std::find(payloads.begin(), payloads.end(), guilty) != payloads.end();
    return UploadAnswer{.kind = is_guilty ? AnswerKind::kRejected : AnswerKind::kDelivered,
                        .message = "malformed"};
  };
}

TEST_F(SpoolSenderTest, OnlyTheGuiltyRecordOfARejectedBatchIsSetAside) {
  transport_.script = RejectIfContaining("guilty");
  Spool({"a", "b", "c"});
  Spool({"d", "guilty", "e"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_EQ(sender_.stats().reports_delivered, 5u);
  EXPECT_EQ(sender_.stats().records_rejected, 1u);
  EXPECT_EQ(sender_.stats().last_problem, "malformed");
  ASSERT_THAT(SegmentFiles(), ElementsAre(EndsWith("-000001.rejected")));
  Segment kept = ParseSegment(lagwatch::testing::ReadFile(spool_ / SegmentFiles()[0]));
  ASSERT_THAT(kept.records, SizeIs(1));
  EXPECT_EQ(kept.records[0].payload, "guilty");
  EXPECT_FALSE(sender_.UploadOnce().has_value());
}

// The collector's version is known only from its answers, and an older one may take its place.
TEST_F(SpoolSenderTest, PacksAsTheCollectorCanRead) {
  uint64_t newest = kPackedVersion;
  transport_.script = [&](const Payloads&) {
    UploadAnswer answer{.kind = AnswerKind::kDelivered, .packed_version = newest};
    if (transport_.packed_versions.back() > newest) answer.kind = AnswerKind::kRejected;
    return answer;
  };
  for (const char* payload : {"a", "b"}) {
    Spool({payload});
    EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  }
  newest = 1;
  for (const char* payload : {"c", "d"}) {
    Spool({payload});
    EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  }
  EXPECT_EQ(transport_.packed_versions, (std::vector<uint64_t>{1, kPackedVersion, kPackedVersion, 1, 1}));
  EXPECT_EQ(transport_.stored, (Payloads{"a", "b", "c", "d"}));
  EXPECT_EQ(sender_.stats().records_rejected, 0u);
}

TEST_F(SpoolSenderTest, WhatTheWayTakesInPiecesOnlyIsSentInPieces) {
  transport_.script = [](const Payloads& payloads) {
    return UploadAnswer{.kind = payloads.size() > 1 ? AnswerKind::kTooLarge : AnswerKind::kDelivered};
  };
  Spool({"a", "b", "c"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, ElementsAre("a", "b", "c"));
}

TEST_F(SpoolSenderTest, ARecordThatTheWayDoesNotTakeIsKeptForLater) {
  transport_.script = ScriptedTransport::Always(AnswerKind::kTooLarge);
  Spool({"a", "b"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kTryLater);
  EXPECT_EQ(sender_.stats().records_rejected, 0u);
  EXPECT_THAT(SegmentFiles(), ElementsAre(EndsWith(".seg")));
  transport_.script = ScriptedTransport::Always(AnswerKind::kDelivered);
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, ElementsAre("a", "b"));
}

TEST_F(SpoolSenderTest, AFailureWhileSplittingKeepsEverything) {
  int posts_left = 3;
  transport_.script = [&](const Payloads& payloads) -> UploadAnswer {
    if (posts_left-- == 0) return {.kind = AnswerKind::kTryLater, .message = "gone"};
    return RejectIfContaining("guilty")(payloads);
  };
  Spool({"a", "b", "c", "guilty"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kTryLater);
  EXPECT_EQ(sender_.CountSegmentsLeft(), 1u);
  EXPECT_THAT(SegmentFiles(), SizeIs(1));
  transport_.script = RejectIfContaining("guilty");
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  for (const char* payload : {"a", "b", "c"}) EXPECT_THAT(transport_.stored, Contains(payload));
}

class SpoolSenderKeeps : public SpoolSenderTest, public ::testing::WithParamInterface<AnswerKind> {};

TEST_P(SpoolSenderKeeps, WhatWasNotTaken) {
  transport_.script = ScriptedTransport::Always(GetParam());
  Spool({"a"});
  EXPECT_EQ(UploadOnce(), GetParam());
  EXPECT_EQ(UploadOnce(), GetParam());
  EXPECT_EQ(sender_.stats().failures, 2u);
  EXPECT_EQ(sender_.stats().last_problem, "as scripted");
  transport_.script = ScriptedTransport::Always(AnswerKind::kDelivered);
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, ElementsAre("a"));
}

INSTANTIATE_TEST_SUITE_P(Answers, SpoolSenderKeeps,
                         ::testing::Values(AnswerKind::kTryLater, AnswerKind::kUnauthorized));

TEST_F(SpoolSenderTest, ASegmentThatAnotherUploaderTookIsNoError) {
  transport_.script = [&](const Payloads&) {
    for (const std::string& name : SegmentFiles()) std::filesystem::remove(spool_ / name);
    return UploadAnswer{.kind = AnswerKind::kDelivered};
  };
  Spool({"a"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_EQ(sender_.stats().last_problem, "");
}

TEST_F(SpoolSenderTest, ASegmentThatCannotBeRemovedIsNotSentAgain) {
  env_.Fail(EnvCall::kRemove, EACCES);
  Spool({"a"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(sender_.stats().last_problem, ::testing::HasSubstr("cannot remove"));
  EXPECT_FALSE(sender_.UploadOnce().has_value());
  EXPECT_THAT(transport_.posts, SizeIs(1));
}

TEST_F(SpoolSenderTest, ASegmentThatCannotBeReadHoldsUpNoOthers) {
  Spool({"unreadable"});
  const std::string path = spool_ / SegmentFiles().at(0);
  Spool({"fine"});
  std::filesystem::rename(path, path + ".aside");
  std::filesystem::create_directory(path);
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, ElementsAre("fine"));
  std::filesystem::remove(path);
  std::filesystem::rename(path + ".aside", path);
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_THAT(transport_.stored, ElementsAre("fine", "unreadable"));
}

TEST_F(SpoolSenderTest, WhatIsWholeOfADamagedSegmentIsSent) {
  Spool({"first", "second", "third"});
  std::string path = spool_ / SegmentFiles().at(0);
  std::string bytes = lagwatch::testing::ReadFile(path);
  bytes[bytes.find("second")] = 'S';
  lagwatch::testing::WriteFile(path, bytes);
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  ASSERT_THAT(transport_.stored, ElementsAre("first", "third", ::testing::_));
  auto losses = DecodeLosses(transport_.stored[2]);
  ASSERT_TRUE(losses.ok());
  EXPECT_THAT(losses->losses, ElementsAre(Loss{LossReason::kDamaged, 0, 1, 0}));
  EXPECT_GT(sender_.stats().bytes_skipped, 0u);
}

TEST_F(SpoolSenderTest, OfASegmentWithNothingWholeTheLossIsLeft) {
  Spool({"only"});
  lagwatch::testing::WriteFile(spool_ / SegmentFiles().at(0), "rubbish");
  EXPECT_EQ(UploadOnce(), AnswerKind::kDelivered);
  EXPECT_EQ(sender_.stats().losses[static_cast<size_t>(LossReason::kDamaged)], 1u);
  EXPECT_THAT(SegmentFiles(), IsEmpty());
}

TEST_F(SpoolSenderTest, AnExceptionOnTheWayIsAFailureThatKeepsEverything) {
  transport_.script = [](const Payloads&) -> UploadAnswer { throw std::runtime_error("out of order"); };
  Spool({"a"});
  EXPECT_EQ(UploadOnce(), AnswerKind::kTryLater);
  EXPECT_THAT(sender_.stats().last_problem, ::testing::HasSubstr("out of order"));
  EXPECT_EQ(sender_.CountSegmentsLeft(), 1u);
}

class OneName final : public FrameNamer {
 public:
  std::optional<std::string> NameOf(const std::string&, std::string_view, uint64_t offset) override {
    return offset == 0x90 ? std::optional<std::string>("OnKey") : std::nullopt;
  }
};

TEST_F(SpoolSenderTest, ReportsAreNamedOnTheirWay) {
  OneName namer;
  SpoolSender sender(&env_, spool_.path(), &transport_, &namer);
  Spool({lagwatch::testing::FullReport()});
  ASSERT_TRUE(sender.UploadOnce().has_value());
  auto report = DecodeReport(transport_.stored.at(0));
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->symbols.size(), 2u);
  EXPECT_EQ(report->symbols[1].name, "OnKey");
}

}  // namespace
}  // namespace lagwatch::report
