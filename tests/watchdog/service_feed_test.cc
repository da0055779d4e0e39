// SPDX-License-Identifier: Apache-2.0
// The test is the service manager, with a socket as systemd has one.
#include "watchdog/service/service_feed.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/system/process.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/service_manager.h"
#include "tests/testing/temp_directory.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using testing::ServiceManager;

class ServiceFeedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(variable);
  }
  void SetEnvironment(const std::string& socket, const char* timeout_us, const std::string& pid) {
    setenv("NOTIFY_SOCKET", socket.c_str(), 1);
    setenv("WATCHDOG_USEC", timeout_us, 1);
    if (!pid.empty()) setenv("WATCHDOG_PID", pid.c_str(), 1);
  }

  testing::ScopedTempDirectory directory_;
  std::string path_ = directory_ / "notify";
};

TEST_F(ServiceFeedTest, IsThereOnlyForThisProcessAndALocalSocket) {
  EXPECT_EQ(ServiceFeed::FromEnvironment(), nullptr);
  SetEnvironment(path_, "1000000", "");
  EXPECT_NE(ServiceFeed::FromEnvironment(), nullptr);
  SetEnvironment(path_, "1000000", std::to_string(getpid()));
  EXPECT_NE(ServiceFeed::FromEnvironment(), nullptr);
  for (const char* timeout : {"", "0", "-1", "soon", "1000 ms", "99999999999999999999999"}) {
    SetEnvironment(path_, timeout, "");
    EXPECT_EQ(ServiceFeed::FromEnvironment(), nullptr) << timeout;
  }
  SetEnvironment(path_, "1000000", std::to_string(getppid()));
  EXPECT_EQ(ServiceFeed::FromEnvironment(), nullptr);
  for (const std::string& socket : {std::string(), std::string("@"), std::string("relative"),
                                    std::string("vsock:2:1234"), "/" + std::string(200, 'x')}) {
    SetEnvironment(socket, "1000000", std::to_string(getpid()));
    EXPECT_EQ(ServiceFeed::FromEnvironment(), nullptr) << socket;
  }
}

TEST_F(ServiceFeedTest, SendsEachHalfOfTheManagersTime) {
  for (const std::string& socket : {path_, "@lagwatch-test-" + std::to_string(getpid())}) {
    ServiceManager manager(socket);
    SetEnvironment(socket, "1000000", "");
    auto feed = ServiceFeed::FromEnvironment();
    ASSERT_NE(feed, nullptr);
    const int64_t now_ns = 1'000'000 * kNsPerMs;
    feed->Feed(now_ns);
    EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
    EXPECT_EQ(manager.sender_pid(), getpid());
    EXPECT_EQ(feed->due_ns(), now_ns + 500 * kNsPerMs);
    feed->Feed(now_ns + 499 * kNsPerMs);
    EXPECT_EQ(manager.Receive(), "");
    feed->Feed(now_ns + 500 * kNsPerMs);
    EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
    EXPECT_EQ(feed->sent_count(), 2u);
    EXPECT_EQ(feed->failed_count(), 0u);
  }
}

int CountOpenFiles() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += dup2(fd, fd) == fd;
  return count;
}

TEST_F(ServiceFeedTest, NeitherWaitsNorLeavesAFileOpenWhenNobodyReceives) {
  SetEnvironment(path_, "1000000", "");
  auto feed = ServiceFeed::FromEnvironment();
  ASSERT_NE(feed, nullptr);
  const int files = CountOpenFiles();
  int64_t now_ns = 1'000'000 * kNsPerMs;
  feed->Feed(now_ns);  // no receiver exists
  EXPECT_EQ(feed->failed_count(), 1u);
  EXPECT_LT(feed->due_ns(), now_ns + 500 * kNsPerMs);
  EXPECT_GT(feed->due_ns(), now_ns);
  ServiceManager manager(path_);
  const int files_with_manager = CountOpenFiles();
  for (int i = 0; i < 10'000 && feed->failed_count() < 2; ++i) feed->Feed(now_ns = feed->due_ns());
  EXPECT_EQ(feed->failed_count(), 2u);  // the manager's queue is full
  EXPECT_EQ(CountOpenFiles(), files_with_manager);
  EXPECT_EQ(files + 1, files_with_manager);
  EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
  feed->Feed(feed->due_ns());
  EXPECT_EQ(feed->failed_count(), 2u);
}

// The watchdog as it is, on the real clock.
class FeedingWatchdogTest : public ServiceFeedTest {
 protected:
  void Start() {
    options_.threshold_ns = 100 * kNsPerMs;
    options_.check_period_ns = 50 * kNsPerMs;
    options_.sample_interval_ns = 10 * kNsPerMs;
    options_.service = feed_.get();
    base::PrepareFences();  // as a monitor does: without them, a watchdog's first second has more rounds
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    watchdog_ = std::make_unique<Watchdog>(options_, registry_.get(), capturer_.get(), &sink_);
    ASSERT_TRUE(watchdog_->Start().ok());
  }
  void TearDown() override {
    if (watchdog_ != nullptr) {
      EXPECT_TRUE(watchdog_->TryStop());
    }
  }

  ServiceManager manager_{path_};
  WatchOptions options_;
  std::unique_ptr<ServiceFeed> feed_;
  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  std::unique_ptr<stack::StackCapturer> capturer_;
  testing::RecordingSink sink_;
  std::unique_ptr<Watchdog> watchdog_;
};

TEST_F(FeedingWatchdogTest, FeedsWhileAllLoopsAreWellAndNotInAHang) {
  SetEnvironment(path_, "60000", "");
  feed_ = ServiceFeed::FromEnvironment();
  ASSERT_NE(feed_, nullptr);
  Start();
  // While nothing is watched, while a loop is idle and while one works.
  auto is_fed = [&](uint64_t more) {
    const uint64_t before = feed_->sent_count();
    return testing::WaitUntil([&] {
      while (!manager_.Receive().empty()) {
      }
      return feed_->sent_count() >= before + more;
    });
  };
  EXPECT_TRUE(is_fed(3));
  WatchedLoop* loop = registry_->Add("loop", gettid());
  EXPECT_TRUE(is_fed(10));
  loop->probe.Begin("stall");
  EXPECT_TRUE(testing::WaitUntil([&] { return !sink_.hangs().empty(); }));
  // One may have been sent in the round before the hang was found.
  const uint64_t fed_before_hang = feed_->sent_count();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(feed_->sent_count(), fed_before_hang);
  loop->probe.End();
  EXPECT_TRUE(is_fed(3));
  registry_->Remove(loop);
}

TEST_F(FeedingWatchdogTest, AnIdleProgramIsWokenForTheManagerAlone) {
  SetEnvironment(path_, "600000", "");
  feed_ = ServiceFeed::FromEnvironment();
  ASSERT_NE(feed_, nullptr);
  Start();
  registry_->Add("idle", gettid());
  ASSERT_TRUE(testing::WaitUntil([&] { return feed_->sent_count() >= 2; }));
  const int rounds = sink_.rounds();
  const uint64_t fed = feed_->sent_count();
  ASSERT_TRUE(testing::WaitUntil([&] { return feed_->sent_count() >= fed + 3; }));
  EXPECT_LE(sink_.rounds() - rounds, 5);
}

TEST_F(FeedingWatchdogTest, AnIdleProgramWithoutAManagerIsNotWokenAtAll) {
  SetEnvironment(path_, "60000", "");
  Start();
  registry_->Add("idle", gettid());
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > 0; }));
  EXPECT_TRUE(testing::WaitUntil([&] {
    const int rounds = sink_.rounds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return sink_.rounds() == rounds;
  }));
  EXPECT_EQ(manager_.Receive(), "");
}

}  // namespace
}  // namespace lagwatch::watchdog
