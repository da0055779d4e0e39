// SPDX-License-Identifier: Apache-2.0
#include "report/upload/upload_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "report/upload/ledger_file.h"
#include "tests/report/upload/upload_testing.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using lagwatch::testing::kNoonMs;
using lagwatch::testing::NewId;
using ::testing::ElementsAre;
using ::testing::SizeIs;

UploadLedger FullLedger() {
  UploadLedger ledger = UploadLedger::New(kNoonMs);
  ledger.segments["one"] = {.sample_rate_ppm = 50'000, .dropped = {7, UINT64_MAX}, .forced = {9}};
  ledger.segments["two"] = {.is_done = true};
  ledger.NoteDropped(NewId());
  policies::DailyQuota({}, ledger.QuotaUseOf({.app = "editor"}))
      .Take(7, policies::ReportPriority::kAnr, 20'000);
  ledger.CountLoss({.app = "old"}, {LossReason::kTooOld, 1, 2, 0}, kNoonMs);
  ledger.FreezeLosses();
  ledger.CountLoss({"editor", "2.3.1", "\xff not UTF-8"}, {LossReason::kDayIsFull, UINT64_MAX, 3, 50'000},
                   kNoonMs);
  return ledger;
}

TEST(UploadLedger, IsReadBackAsItWas) {
  const std::string text = FullLedger().ToText();
  auto ledger = UploadLedger::Parse(text);
  ASSERT_TRUE(ledger.ok()) << text;
  EXPECT_EQ(ledger->ToText(), text);
  EXPECT_EQ(ledger->losses.at(0).user, "\xff not UTF-8");
}

TEST(UploadLedger, EveryCutIsDamaged) {
  const std::string text = FullLedger().ToText();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(UploadLedger::Parse(std::string_view(text).substr(0, size)).ok()) << size;
}

TEST(UploadLedger, NoDamageIsBelieved) {
  const std::string text = FullLedger().ToText();
  for (size_t at = 0; at < text.size(); ++at) {
    for (char byte : {'\0', '"', '9', '-', '{', '\x80'}) {
      std::string damaged = text;
      damaged[at] = byte;
      EXPECT_EQ(UploadLedger::Parse(damaged).ok(), damaged == text) << at;
    }
  }
}

TEST(UploadLedger, OfAnyNumberOfSegmentsIsNotDamaged) {
  UploadLedger ledger = UploadLedger::New(kNoonMs);
  for (int i = 0; i < 20'000; ++i) ledger.segments[std::to_string(i)] = {.is_done = true};
  auto read = UploadLedger::Parse(ledger.ToText());
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->segments, SizeIs(20'000));
}

TEST(UploadLedger, EqualLossesAreAddedUp) {
  UploadLedger ledger;
  for (int i = 0; i < 3; ++i) ledger.CountLoss({.app = "a"}, {LossReason::kTooOld, 5, 1, 0}, kNoonMs + i);
  ledger.CountLoss({.app = "a"}, {LossReason::kTooOld, 6, 1, 0}, kNoonMs);
  ASSERT_THAT(ledger.losses, SizeIs(1));
  EXPECT_THAT(ledger.losses[0].losses,
              ElementsAre(Loss{LossReason::kTooOld, 5, 3, 0}, Loss{LossReason::kTooOld, 6, 1, 0}));
  EXPECT_EQ(ledger.losses[0].begin_wall_ms, static_cast<uint64_t>(kNoonMs));
  EXPECT_EQ(ledger.losses[0].end_wall_ms, static_cast<uint64_t>(kNoonMs) + 2);
}

TEST(UploadLedger, PastItsLimitsNothingIsLeftUncounted) {
  UploadLedger ledger;
  for (uint64_t i = 0; i < 20'000; ++i)
    ledger.CountLoss({.app = "a" + std::to_string(i % 100)}, {LossReason::kTooOld, i, 1, 0}, kNoonMs);
  EXPECT_LE(ledger.losses.size(), UploadLedger::kMaxOrigins);
  uint64_t count = 0;
  for (const Losses& losses : ledger.losses) {
    EXPECT_LE(losses.losses.size(), UploadLedger::kMaxLossesOfOrigin + kLastLossReason + 1);
    for (const Loss& loss : losses.losses) count += loss.count;
  }
  EXPECT_EQ(count, 20'000u);
  for (int i = 0; i < 5'000; ++i) ledger.NoteDropped(NewId());
  EXPECT_LE(ledger.dropped_reports.size(), UploadLedger::kMaxDroppedReports);
  for (int i = 0; i < 100; ++i) ledger.QuotaUseOf({.app = std::to_string(i)});
  EXPECT_LE(ledger.quota_uses.size(), UploadLedger::kMaxQuotaUses);
  ledger.installation = "i";
  EXPECT_TRUE(UploadLedger::Parse(ledger.ToText()).ok());
}

class LedgerFileTest : public ::testing::Test {
 protected:
  lagwatch::testing::ScopedTempDirectory directory_;
  lagwatch::testing::FaultEnv env_;
};

TEST_F(LedgerFileTest, WhatIsSavedIsThereForTheNext) {
  {
    LedgerFile file(&env_, directory_.path());
    ASSERT_TRUE(file.Enter(kNoonMs).ok());
    file.ledger()->segments["one"];
    file.ledger()->segments["gone"];
    ASSERT_TRUE(file.Save({"one"}).ok());
  }
  LedgerFile file(&env_, directory_.path());
  ASSERT_TRUE(file.Enter(kNoonMs).ok());
  EXPECT_THAT(file.ledger()->segments, ElementsAre(::testing::Key("one")));
}

TEST_F(LedgerFileTest, WhatCouldNotBeSavedIsForgotten) {
  for (EnvCall call : {EnvCall::kCreateLocked, EnvCall::kAppend, EnvCall::kSync, EnvCall::kRename}) {
    LedgerFile file(&env_, directory_.path());
    ASSERT_TRUE(file.Enter(kNoonMs).ok());
    file.ledger()->segments["one"];
    env_.Fail(call, ENOSPC);
    EXPECT_EQ(file.Save({"one"}).code(), base::StatusCode::kIo);
    file.Leave();
    ASSERT_TRUE(file.Enter(kNoonMs).ok());
    EXPECT_TRUE(file.ledger()->segments.empty());
  }
}

TEST_F(LedgerFileTest, ALedgerThatTheDiskMayNotHaveIsSyncedThoughNothingChanged) {
  LedgerFile file(&env_, directory_.path());
  ASSERT_TRUE(file.Enter(kNoonMs).ok());
  ASSERT_TRUE(file.Save({}).ok());
  env_.Fail(EnvCall::kSync, EIO);
  EXPECT_TRUE(file.Save({}).ok());  // asks for nothing: it knows that the disk has it
  LedgerFile next(&env_, directory_.path());
  ASSERT_TRUE(next.Enter(kNoonMs).ok());
  EXPECT_FALSE(next.Save({}).ok());
  EXPECT_TRUE(next.Save({}).ok());
}

TEST_F(LedgerFileTest, OneProcessAtATimeEnters) {
  LedgerFile file(&env_, directory_.path());
  ASSERT_TRUE(file.Enter(kNoonMs).ok());
  auto other_process_enters = [&] {
    pid_t child = fork();
    if (child == 0) _exit(LedgerFile(&env_, directory_.path()).Enter(kNoonMs).ok() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 0;
  };
  EXPECT_FALSE(other_process_enters());
  file.Leave();
  EXPECT_TRUE(other_process_enters());
}

TEST_F(LedgerFileTest, AChildOfAForkDoesNotHoldTheLock) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t holder = fork();
  if (holder == 0) {
    LedgerFile file(&env_, directory_.path());
    const bool is_in = file.Enter(kNoonMs).ok();
    pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    child = is_in ? child : 0;
    static_cast<void>(write(ready[1], &child, sizeof child));
    _exit(0);  // without leaving
  }
  pid_t child = 0;
  ASSERT_EQ(read(ready[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  waitpid(holder, nullptr, 0);
  ASSERT_GT(child, 0);
  LedgerFile file(&env_, directory_.path());
  EXPECT_TRUE(file.Enter(kNoonMs).ok());
  kill(child, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace lagwatch::report
