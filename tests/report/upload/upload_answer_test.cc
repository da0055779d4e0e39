// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/upload_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lagwatch::report {
namespace {

using ::testing::HasSubstr;

constexpr char kJson[] = "application/json; charset=utf-8";

UploadAnswer Stored(const std::string& body) { return ParseUploadAnswer(200, kJson, body); }

TEST(UploadAnswer, SaysWhichRecordsWereRefused) {
  const UploadAnswer answer = Stored(
      R"({"accepted": 2, "duplicates": 1, "rejected": 1, "config_version": 7, "new_key": {},
          "results": [{"record": 3, "result": "rejected", "why": "bad\nid"}, {"record": 0, "result": "duplicate"}]})");
  EXPECT_EQ(answer.kind, UploadAnswer::Kind::kDelivered);
  EXPECT_EQ(answer.answered_records, 4u);
  EXPECT_EQ(answer.config_version, 7u);
  ASSERT_EQ(answer.refusals.size(), 1u);
  EXPECT_EQ(answer.refusals[0].record, 3u);
  EXPECT_EQ(answer.refusals[0].why, "bad id");
}

TEST(UploadAnswer, ResultsAreNotNeededWhenAllIsStored) {
  EXPECT_EQ(Stored(R"({"accepted": 2, "duplicates": 0, "rejected": 0})").kind,
            UploadAnswer::Kind::kDelivered);
}

TEST(UploadAnswer, ACollectorThatDoesNotSayWhichIsAskedAboutEach) {
  EXPECT_EQ(Stored(R"({"accepted": 2, "duplicates": 0, "rejected": 1})").kind, UploadAnswer::Kind::kRejected);
}

TEST(UploadAnswer, WhatIsNoCollectorsAnswerDeliversNothing) {
  for (
      const char* body : {
          "",
          "{",
          "[]",
          "null",
          "{}",
          "hello",
          R"({"accepted": 2, "duplicates": 0})",
          R"({"accepted": -1, "duplicates": 0, "rejected": 0})",
          R"({"accepted": 1.5, "duplicates": 0, "rejected": 0})",
          R"({"accepted": "2", "duplicates": 0, "rejected": 0})",
          R"({"accepted": 18446744073709551615, "duplicates": 1, "rejected": 0})",
          R"({"accepted": 2, "duplicates": 0, "rejected": 0, "results": {}})",
          R"({"accepted": 2, "duplicates": 0, "rejected": 0, "results": [7]})",
          R"({"accepted": 2, "duplicates": 0, "rejected": 0, "results": [{"record": 0, "result": "rejected"}]})",
          R"({"accepted": 0, "duplicates": 0, "rejected": 2, "results": [{"record": 0, "result": "rejected"}]})",
          R"({"accepted": 0, "duplicates": 0, "rejected": 2, "results": [{"record": 0, "result": "rejected"},
              {"record": 0, "result": "rejected"}]})",
      }) {
    EXPECT_EQ(Stored(body).kind, UploadAnswer::Kind::kTryLater) << body;
  }
  EXPECT_EQ(ParseUploadAnswer(200, "text/html", R"({"accepted": 1, "duplicates": 0, "rejected": 0})").kind,
            UploadAnswer::Kind::kTryLater);
}

TEST(UploadAnswer, EveryCutOfAnAnswerDeliversNothing) {
  const std::string body =
      R"({"accepted": 2, "duplicates": 0, "rejected": 1, "results": [{"record": 3, "result": "rejected"}]})";
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(Stored(body.substr(0, size)).kind, UploadAnswer::Kind::kTryLater) << size;
}

TEST(UploadAnswer, OfWhoIsNoCollectorARefusalIsNone) {
  constexpr char kError[] = R"({"error": {"code": "invalid", "message": "no batch"}})";
  for (int status : {400, 415}) {
    EXPECT_EQ(ParseUploadAnswer(status, kJson, kError).kind, UploadAnswer::Kind::kRejected);
    EXPECT_EQ(ParseUploadAnswer(status, "text/html", kError).kind, UploadAnswer::Kind::kTryLater);
    for (const char* body : {"<html>", "", "{}", "[]", "null", R"({"error": "invalid"})", R"({"error": {}})",
                             R"({"error": {"code": 7}})", R"([{"error": {"code": "invalid"}}])"})
      EXPECT_EQ(ParseUploadAnswer(status, kJson, body).kind, UploadAnswer::Kind::kTryLater) << body;
  }
  EXPECT_EQ(ParseUploadAnswer(413, kJson, kError).kind, UploadAnswer::Kind::kRejected);
  EXPECT_EQ(ParseUploadAnswer(413, "text/html", "<html>").kind,
            UploadAnswer::Kind::kTooLarge);  // a proxy's limit
}

TEST(UploadAnswer, HasToFitTheBatch) {
  const UploadAnswer answer = Stored(R"({"accepted": 2, "duplicates": 1, "rejected": 0})");
  EXPECT_TRUE(FitsBatch(answer, 3, 3));
  EXPECT_TRUE(FitsBatch(answer, 4, 3));  // it does not know one of them
  EXPECT_FALSE(FitsBatch(answer, 4, 4));
  EXPECT_FALSE(FitsBatch(answer, 2, 2));
  const UploadAnswer outside = Stored(
      R"({"accepted": 0, "duplicates": 0, "rejected": 1, "results": [{"record": 1, "result": "rejected"}]})");
  EXPECT_FALSE(FitsBatch(outside, 1, 1));
  EXPECT_TRUE(FitsBatch({.kind = UploadAnswer::Kind::kDelivered}, 5, 5));  // of a file, say
}

TEST(UploadAnswer, MessagesAreOneLineAndShort) {
  const UploadAnswer answer = ParseUploadAnswer(503, kJson, "full\r\n\x1b[1m" + std::string(10'000, 'x'));
  EXPECT_THAT(answer.message, HasSubstr("503 full   [1m"));
  EXPECT_LE(answer.message.size(), 300u);
}

}  // namespace
}  // namespace lagwatch::report
