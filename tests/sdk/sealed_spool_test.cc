// SPDX-License-Identifier: Apache-2.0
// A program with a seal key, through the public interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/process/env.h"
#include "base/text.h"
#include "report/format/report.h"
#include "report/format/sealed.h"
#include "report/seal/record_opener.h"
#include "report/spool/spool_reader.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using report::RecordType;
using testing::WaitUntil;

class SealedSpoolTest : public ::testing::Test {
 protected:
  // Removes leftovers of other tests of this process.
  SealedSpoolTest() {
    lw_stop(0);
    lw_set_consent(LW_CONSENT_GIVEN);
  }

  Options SealedOptions() const {
    return {.app = "sealed-spool-test",
            .spool_directory = spool_,
            .threshold_ms = 100,
            .detection = {.check_period_ms = 50, .sample_interval_ms = 10},
            .privacy = {.seal_key = base::ToHex(key_.ToPublicKey().value())}};
  }
  std::vector<report::OwnedRecord> Records() const {
    const report::SpoolReader reader(&base::SystemEnv(), spool_);
    std::vector<report::OwnedRecord> records;
    auto names = reader.List(report::SpoolReader::Include::kLiveToo);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      auto segment = reader.Read(name);
      if (segment.ok()) std::ranges::move(segment->records, std::back_inserter(records));
    }
    return records;
  }
  size_t Count(RecordType type) const {
    size_t count = 0;
    for (const report::OwnedRecord& record : Records()) {
      EXPECT_EQ(record.type, RecordType::kSealed);
      count += report::DecodeSealed(record.payload)->label.type == type;
    }
    return count;
  }
  // One dispatch that spins until its report is on disk, and then until its end is.
  void FreezeUntilReported(const Monitor& monitor) const {
    const size_t before = Count(RecordType::kReport);
    const size_t ends_before = Count(RecordType::kHangEnd);
    const Loop loop = monitor.WatchLoop("ui");
    {
      ScopedDispatch dispatch(loop, "freeze");
      testing::StopFlag stop{false};
      std::thread judge([&] {
        EXPECT_TRUE(WaitUntil([&] { return Count(RecordType::kReport) > before; }));
        stop = true;
      });
      testing::Spin(stop);
      judge.join();
    }
    EXPECT_TRUE(WaitUntil([&] { return Count(RecordType::kHangEnd) > ends_before; }));
    lw_unwatch_loop(loop.handle());
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  report::SealKey key_ = report::SealKey::Create().value();
};

TEST_F(SealedSpoolTest, WhatIsOutsideIsWhatIsInside) {
  auto monitor = Monitor::Start(SealedOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  FreezeUntilReported(monitor);
  monitor.Stop();
  const report::RecordOpener opener(key_);
  std::set<RecordType> types;
  std::set<std::string> nonces;
  for (const report::OwnedRecord& record : Records()) {
    const report::Sealed sealed = report::DecodeSealed(record.payload).value();
    types.insert(sealed.label.type);
    EXPECT_TRUE(nonces.insert(std::string(sealed.nonce)).second);
    auto opened = opener.Open(record.payload);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    if (opened->type == RecordType::kReport) {
      const auto report = report::DecodeReport(opened->payload);
      ASSERT_TRUE(report.ok());
      EXPECT_EQ(report.value().id, sealed.label.id);
      EXPECT_EQ(report.value().tag, "freeze");
      EXPECT_EQ(report.value().cause, sealed.label.cause);
      EXPECT_NE(sealed.label.cause, 0u);
    } else if (opened->type == RecordType::kUsage) {
      EXPECT_EQ(report::DecodeUsage(opened->payload).value().id, sealed.label.id);
    }
  }
  EXPECT_THAT(types,
              ::testing::IsSupersetOf({RecordType::kReport, RecordType::kHangEnd, RecordType::kUsage}));
}

TEST_F(SealedSpoolTest, AWithdrawnStartLeavesNoReport) {
  Monitor::Start(SealedOptions()).Stop();
  Options options = SealedOptions();
  options.start.kind = LW_START_COLD;
  options.start.cold_ms = 3'600'000;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on());
  FreezeUntilReported(monitor);
  lw_withdraw_start();
  EXPECT_EQ(Count(RecordType::kReport), 0u);
  EXPECT_EQ(Count(RecordType::kHangEnd), 0u);
  EXPECT_EQ(Count(RecordType::kRunEnd), 1u);
}

TEST_F(SealedSpoolTest, ConsentTakenBackErasesWhatIsSealed) {
  auto monitor = Monitor::Start(SealedOptions());
  ASSERT_TRUE(monitor.is_on());
  FreezeUntilReported(monitor);
  monitor.SetConsent(LW_CONSENT_NOT_GIVEN);
  for (const auto& entry : fs::recursive_directory_iterator(spool_))
    EXPECT_TRUE(entry.is_directory()) << entry.path();
}

#if !defined(__SANITIZE_THREAD__)  // which does not support threads in a child of a process with threads
// Two records of one key and one nonce would give away both.
TEST_F(SealedSpoolTest, AForkedChildBeginsASessionOfItsOwn) {
  auto monitor = Monitor::Start(SealedOptions());
  ASSERT_TRUE(monitor.is_on());
  FreezeUntilReported(monitor);
  const pid_t child = fork();
  if (child == 0) {
    auto own = Monitor::Start(SealedOptions());
    if (!own.is_on()) _exit(1);
    FreezeUntilReported(own);
    own.Stop();
    _exit(::testing::Test::HasFailure() ? 2 : 0);
  }
  FreezeUntilReported(monitor);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  monitor.Stop();
  std::set<std::string> used;
  std::set<std::string> sessions;
  for (const report::OwnedRecord& record : Records()) {
    const report::Sealed sealed = report::DecodeSealed(record.payload).value();
    sessions.insert(std::string(sealed.ephemeral_key));
    EXPECT_TRUE(used.insert(std::string(sealed.ephemeral_key) + std::string(sealed.nonce)).second);
  }
  EXPECT_EQ(sessions.size(), 2u);
}
#endif

TEST_F(SealedSpoolTest, WithAKeyThatIsNoneItIsOffAndSaysWhy) {
  for (const std::string& key : {std::string("no key"), std::string(63, 'a'), std::string(64, '0')}) {
    Options options = SealedOptions();
    options.privacy.seal_key = key;
    auto monitor = Monitor::Start(options);
    EXPECT_FALSE(monitor.is_on());
    EXPECT_THAT(monitor.why_off(), ::testing::HasSubstr("seal_key"));
    EXPECT_FALSE(fs::exists(spool_));
  }
}

}  // namespace
}  // namespace lagwatch
