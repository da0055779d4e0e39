// SPDX-License-Identifier: Apache-2.0
#include "report/upload/uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "report/spool/spool_writer.h"
#include "tests/report/report_testing.h"
#include "tests/report/upload/scripted_transport.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::ScriptedTransport;
using ::testing::ElementsAre;
using AnswerKind = UploadAnswer::Kind;
using Payloads = ScriptedTransport::Payloads;

constexpr int64_t kPlentyMs = 60'000;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

class UploaderTest : public ::testing::Test {
 protected:
  void Spool(const std::string& payload) {
    ASSERT_TRUE(writer_->Append(RecordType::kReport, payload));
    writer_->Seal();
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  std::unique_ptr<SpoolWriter> writer_ =
      SpoolWriter::Create(&base::SystemEnv(), spool_.path(), base::CreateUuidV7(1), SpoolLimits{}).value();
  lagwatch::testing::NoNames namer_;
};

class UploaderOverAScript : public UploaderTest {
 protected:
  ScriptedTransport transport_;
  SpoolSender sender_{&base::SystemEnv(), spool_.path(), &transport_, &namer_};
};

// Waits for another thread without guessing how long that takes.
class Flag {
 public:
  void Set() {
    std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

TEST_F(UploaderOverAScript, SendsWhatIsSpooledWhileItRuns) {
  Flag delivered;
  transport_.script = [&](const Payloads&) {
    delivered.Set();
    return UploadAnswer{.kind = AnswerKind::kDelivered};
  };
  Uploader uploader(&sender_, &transport_);
  ASSERT_TRUE(uploader.Start().ok());
  Spool("a");
  uploader.Wake();
  delivered.Wait();
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
  EXPECT_THAT(transport_.stored, ElementsAre("a"));
  EXPECT_EQ(sender_.CountSegmentsLeft(), 0u);
}

TEST_F(UploaderOverAScript, StoppingSendsWhatIsSealed) {
  Uploader uploader(&sender_, &transport_);
  ASSERT_TRUE(uploader.Start().ok());
  for (const char* payload : {"a", "b", "c"}) Spool(payload);
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
  EXPECT_THAT(transport_.stored, ElementsAre("a", "b", "c"));
}

TEST_F(UploaderOverAScript, StoppingLeavesACollectorAloneThatAskedToWait) {
  Flag refused;
  transport_.script = [&](const Payloads&) {
    refused.Set();
    return UploadAnswer{.kind = AnswerKind::kTryLater, .retry_after_s = 3'600};
  };
  Spool("a");
  Uploader uploader(&sender_, &transport_);
  ASSERT_TRUE(uploader.Start().ok());
  refused.Wait();
  uploader.Wake();
  int64_t stop_began_ns = NowNs();
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
  EXPECT_LT(NowNs() - stop_began_ns, kPlentyMs * base::kNsPerMs / 2);
  EXPECT_EQ(transport_.posts.size(), 1u);
  EXPECT_EQ(sender_.CountSegmentsLeft(), 1u);
}

TEST_F(UploaderOverAScript, StoppingGivesUpACollectorThatDoesNotAnswer) {
  transport_.script = [](const Payloads&) { return UploadAnswer{.kind = AnswerKind::kTryLater}; };
  Uploader uploader(&sender_, &transport_);
  uploader.SetMostFailuresAtEnd(2);
  ASSERT_TRUE(uploader.Start().ok());
  Spool("a");
  EXPECT_TRUE(uploader.TryStop(INT32_MAX));
  EXPECT_LE(transport_.posts.size(), 3u);  // one may have been made before
  EXPECT_EQ(sender_.CountSegmentsLeft(), 1u);
}

TEST_F(UploaderTest, ADiskThatHangsDoesNotHoldUpItsStop) {
  lagwatch::testing::FaultEnv env;
  ScriptedTransport transport;
  SpoolSender sender(&env, spool_.path(), &transport, &namer_);
  Spool("a");
  Uploader uploader(&sender, &transport);
  env.HoldSyncs();
  ASSERT_TRUE(uploader.Start().ok());
  while (env.CountOf(lagwatch::testing::EnvCall::kSync) == 0) sched_yield();
  EXPECT_FALSE(uploader.TryStop(1));
  env.ReleaseSyncs();
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
}

// Ten minutes pass when the test says so.
class LeapingClock final : public base::Clock {
 public:
  int64_t MonoNs() const override { return base::SystemClock().MonoNs() + leap_ms * base::kNsPerMs; }
  int64_t BootNs() const override { return MonoNs(); }
  int64_t WallMs() const override { return base::SystemClock().WallMs() + leap_ms; }

  std::atomic<int64_t> leap_ms{0};
};

TEST_F(UploaderTest, WhileItLeavesTheCollectorAloneTheSpoolIsSwept) {
  Flag refused;
  ScriptedTransport transport;
  transport.script = [&](const Payloads&) {
    refused.Set();
    return UploadAnswer{.kind = AnswerKind::kUnauthorized};
  };
  LeapingClock clock;
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &transport, &namer_, clock);
  sender.SetPolicies([] { return UploadPolicies{.retention = {}}; });
  Spool("a");
  Uploader uploader(&sender, &transport);
  ASSERT_TRUE(uploader.Start().ok());
  refused.Wait();
  clock.leap_ms = 8 * 24 * 3600 * int64_t{1'000};
  auto has_segment = [&] {
    return std::ranges::any_of(spool_.Files(),
                               [](const std::string& name) { return name.ends_with(".seg"); });
  };
  for (int tries = 0; tries < 10'000 && has_segment(); ++tries) {
    uploader.Wake();
    usleep(1'000);
  }
  EXPECT_TRUE(uploader.TryStop(0));
  EXPECT_EQ(sender.CountSegmentsLeft(), 0u);
  EXPECT_EQ(transport.posts.size(), 1u);
}

TEST_F(UploaderOverAScript, TheThreadHasItsNameAndTakesNoSignals) {
  std::string name;
  bool takes_signals = true;
  transport_.script = [&](const Payloads&) {
    char text[16];
    pthread_getname_np(pthread_self(), text, sizeof text);
    name = text;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    takes_signals =
        !sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGPIPE) || !sigismember(&mask, SIGCHLD);
    return UploadAnswer{.kind = AnswerKind::kDelivered};
  };
  Spool("a");
  Uploader uploader(&sender_, &transport_);
  ASSERT_TRUE(uploader.Start().ok());
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
  EXPECT_EQ(name, "lagwatch-upload");
  EXPECT_FALSE(takes_signals);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
}

TEST_F(UploaderOverAScript, WhatIsThrownEndsNeitherTheThreadNorTheProgram) {
  Flag thrown;
  bool has_thrown = false;
  transport_.script = [&](const Payloads&) -> UploadAnswer {
    if (has_thrown) return {.kind = AnswerKind::kDelivered};
    has_thrown = true;
    thrown.Set();
    throw 7;
  };
  Spool("a");
  Uploader uploader(&sender_, &transport_);
  ASSERT_TRUE(uploader.Start().ok());
  thrown.Wait();
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
  EXPECT_THAT(transport_.posts, ::testing::Not(::testing::IsEmpty()));
}

TEST_F(UploaderOverAScript, StoppingWithoutAStartDoesNothing) {
  Uploader uploader(&sender_, &transport_);
  EXPECT_TRUE(uploader.TryStop(kPlentyMs));
  EXPECT_THAT(transport_.posts, ::testing::IsEmpty());
}

// A collector that never answers.
class HangingTransport final : public Transport {
 public:
  UploadAnswer Post(std::string_view) override {
    posted.Set();
    aborted_.Wait();
    return {.message = "aborted"};
  }
  void Abort() override { aborted_.Set(); }

  Flag posted;

 private:
  Flag aborted_;
};

TEST_F(UploaderTest, StoppingEndsAtItsDeadlineWhenTheCollectorHangs) {
  HangingTransport transport;
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &transport, &namer_);
  Spool("a");
  Uploader uploader(&sender, &transport);
  ASSERT_TRUE(uploader.Start().ok());
  transport.posted.Wait();
  EXPECT_TRUE(uploader.TryStop(20));
  EXPECT_EQ(sender.CountSegmentsLeft(), 1u);
}

TEST_F(UploaderOverAScript, DrainingTriesAgainUntilAllIsSent) {
  int failures_left = 1;
  transport_.script = [&](const Payloads&) {
    return UploadAnswer{.kind = failures_left-- > 0 ? AnswerKind::kTryLater : AnswerKind::kDelivered};
  };
  Spool("a");
  EXPECT_EQ(DrainSpool(&sender_, NowNs() + kPlentyMs * base::kNsPerMs), 0u);
  EXPECT_THAT(transport_.stored, ElementsAre("a"));
}

TEST_F(UploaderOverAScript, DrainingGivesUpWhenTheNextTryIsPastTheDeadline) {
  transport_.script = ScriptedTransport::Always(AnswerKind::kUnauthorized);
  Spool("a");
  Spool("b");
  EXPECT_EQ(DrainSpool(&sender_, NowNs() + kPlentyMs * base::kNsPerMs), 2u);
  EXPECT_EQ(transport_.posts.size(), 1u);
}

}  // namespace
}  // namespace lagwatch::report
