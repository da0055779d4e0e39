// SPDX-License-Identifier: Apache-2.0
// The ways to a collector that are not HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "report/upload/transport/gzip.h"
#include "report/upload/transport/transport.h"
#include "tests/report/report_testing.h"
#include "tests/report/upload/scripted_transport.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using AnswerKind = UploadAnswer::Kind;

class FileTransportTest : public ::testing::Test {
 protected:
  lagwatch::testing::ScopedTempDirectory directory_;
  lagwatch::testing::FaultEnv env_;
};

TEST_F(FileTransportTest, EachBatchIsAFileOfItsOwn) {
  auto transport = CreateFileTransport(&env_, "file://" + directory_ / "not/yet/there");
  ASSERT_TRUE(transport.ok());
  for (const char* body : {"one", "two"})
    EXPECT_EQ((*transport)->Post(Gzip(body)).kind, AnswerKind::kDelivered);
  std::vector<std::string> bodies;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "not/yet/there")) {
    EXPECT_THAT(entry.path().filename().string(),
                MatchesRegex("20[0-9]{6}T[0-9]{6}\\.[0-9]{3}Z-[0-9a-f-]{36}\\.lwb\\.gz"));
    bodies.push_back(lagwatch::testing::Gunzip(lagwatch::testing::ReadFile(entry.path())));
  }
  EXPECT_THAT(bodies, ::testing::UnorderedElementsAre("one", "two"));
}

TEST_F(FileTransportTest, WhatCannotBeWrittenIsForLaterAndLeavesNothing) {
  auto transport = CreateFileTransport(&env_, "file://" + directory_.path());
  ASSERT_TRUE(transport.ok());
  for (EnvCall call : {EnvCall::kCreateDirectories, EnvCall::kCreateLocked, EnvCall::kAppend, EnvCall::kSync,
                       EnvCall::kRename}) {
    env_.Fail(call, ENOSPC);
    const UploadAnswer answer = (*transport)->Post(Gzip("body"));
    EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
    EXPECT_THAT(answer.message, HasSubstr("No space left"));
    EXPECT_THAT(directory_.Files(), IsEmpty());
  }
  EXPECT_EQ((*transport)->Post(Gzip("body")).kind, AnswerKind::kDelivered);
}

TEST_F(FileTransportTest, NeedsAnAbsolutePath) {
  for (const char* endpoint : {"file://relative/path", "file:/one/slash", "http://x", ""})
    EXPECT_FALSE(CreateFileTransport(&env_, endpoint).ok()) << endpoint;
}

UploadAnswer AnswerOfHost(int status, const std::string& body) {
  auto transport = CreateHostTransport([&](std::string_view, std::string* answer) {
    *answer = body;
    return status;
  });
  return transport->Post("batch");
}

TEST(HostTransport, TheProgramSends) {
  std::string sent;
  auto transport = CreateHostTransport([&](std::string_view body, std::string*) {
    sent = body;
    return 204;
  });
  EXPECT_EQ(transport->Post("batch").kind, AnswerKind::kDelivered);
  EXPECT_EQ(sent, "batch");
}

TEST(HostTransport, TheCollectorsAnswerIsHeeded) {
  EXPECT_EQ(AnswerOfHost(200, R"({"accepted": 1, "duplicates": 0, "rejected": 0})").answered_records, 1u);
  EXPECT_EQ(AnswerOfHost(200, "<html>").kind, AnswerKind::kTryLater);
  EXPECT_EQ(AnswerOfHost(400, R"({"error": {"code": "invalid"}})").kind, AnswerKind::kRejected);
  for (int status : {400, 415}) EXPECT_EQ(AnswerOfHost(status, "<html>").kind, AnswerKind::kTryLater);
  EXPECT_EQ(AnswerOfHost(413, "<html>").kind, AnswerKind::kTooLarge);
  EXPECT_EQ(AnswerOfHost(401, "").kind, AnswerKind::kUnauthorized);
  EXPECT_EQ(AnswerOfHost(503, "").kind, AnswerKind::kTryLater);
  EXPECT_EQ(AnswerOfHost(0, "").kind, AnswerKind::kTryLater);
  EXPECT_EQ(AnswerOfHost(-1, "").kind, AnswerKind::kTryLater);
}

TEST(HostTransport, IsNotAskedAnyMoreWhenAborted) {
  int calls = 0;
  auto transport = CreateHostTransport([&](std::string_view, std::string*) { return ++calls; });
  transport->Abort();
  EXPECT_EQ(transport->Post("batch").kind, AnswerKind::kTryLater);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace lagwatch::report
