// SPDX-License-Identifier: Apache-2.0
// The records that are sent, by each transport, and the counts of the others.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/sdk/sdk_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using testing::WaitUntil;

TEST_F(SdkTest, KeepsReportsWhenTheEndpointIsNoUrl) {
  Options options = TestOptions();
  options.endpoint = "not a url";
  auto monitor = Monitor::Start(options);
  EXPECT_TRUE(monitor.is_on());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "kept");
}

// A program that sends by itself, and what it was given to send.
class OwnTransport {
 public:
  lw_transport ToC() { return {.context = this, .post = &Post}; }
  size_t batches() {
    std::lock_guard lock(mutex_);
    return batches_.size();
  }

 private:
  static int Post(void* self, const void* body, size_t size_bytes, char* answer, size_t* answer_size_bytes) {
    auto* own = static_cast<OwnTransport*>(self);
    std::lock_guard lock(own->mutex_);
    own->batches_.emplace_back(static_cast<const char*>(body), size_bytes);
    EXPECT_GE(*answer_size_bytes, 1024u);
    answer[0] = '?';
    *answer_size_bytes = 0;
    return 202;
  }

  std::mutex mutex_;
  std::vector<std::string> batches_;
};

TEST_F(SdkTest, TheProgramSendsWhatItIsGiven) {
  OwnTransport transport;
  Options options = TestOptions();
  options.upload.user_rate_ppm = 1'000'000;
  options.upload.transport = transport.ToC();
  auto monitor = Monitor::Start(options);
  {
    auto loop = monitor.WatchLoop("ui");
    ScopedDispatch dispatch(loop, "sent");
    ASSERT_TRUE(WaitUntil([&] { return monitor.stats().reports_uploaded > 0; }));
  }
  monitor.Stop(60'000);
  EXPECT_GT(transport.batches(), 0u);
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, WhatIsNotSentIsCounted) {
  OwnTransport transport;
  Options options = TestOptions();
  options.upload.user_rate_ppm = 0;
  options.upload.transport = transport.ToC();
  auto monitor = Monitor::Start(options);
  {
    auto loop = monitor.WatchLoop("ui");
    ScopedDispatch dispatch(loop, "kept back");
    ASSERT_TRUE(WaitUntil([&] { return monitor.stats().reports_not_sampled > 0; }));
  }
  monitor.Stop(60'000);
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, WithoutANetworkNothingIsTried) {
  OwnTransport transport;
  Options options = TestOptions();
  options.upload.user_rate_ppm = 1'000'000;
  options.upload.unmetered_only = true;
  options.upload.transport = transport.ToC();
  for (lw_network network : {LW_NETWORK_NONE, LW_NETWORK_METERED}) {
    lw_set_network(network);
    auto monitor = Monitor::Start(options);
    FreezeUntilReported(monitor.WatchLoop("ui"), "waits");
    monitor.Stop(60'000);
    EXPECT_EQ(transport.batches(), 0u);
    EXPECT_FALSE(Reports().empty());
  }
  lw_set_network(LW_NETWORK_UNMETERED);
  auto monitor = Monitor::Start(options);
  monitor.Stop(60'000);
  EXPECT_GT(transport.batches(), 0u);
  EXPECT_TRUE(Reports().empty());
}

// A transport whose function takes a while, and forks.
struct ForkingTransport {
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_released{false};
  std::atomic<int> child_result{-1};

  static int Post(void* context, const void*, size_t, char*, size_t* answer_bytes) {
    auto* self = static_cast<ForkingTransport*>(context);
    self->is_inside.store(true);
    WaitUntil([&] { return self->is_released.load(); });
    self->child_result.store(InForkedChild([] { return lw_why_off()[0] == '\0' ? 1 : 7; }));
    *answer_bytes = 0;
    return 200;
  }
};

TEST_F(SdkTest, ForksDuringAStopDoNotWaitForIt) {
  ForkingTransport transport;
  Options options = TestOptions();
  options.upload.user_rate_ppm = 1'000'000;
  options.upload.transport = {.context = &transport, .post = &ForkingTransport::Post};
  auto monitor = Monitor::Start(options);
  FreezeUntilReported(monitor.WatchLoop("ui"), "sent by a function that forks");
  ASSERT_TRUE(WaitUntil([&] { return transport.is_inside.load(); }));
  std::atomic<bool> has_stopped{false};
  std::thread stopper([&] {
    monitor.Stop(60'000);
    has_stopped.store(true);
  });
  // The stop waits for the function, which waits for this thread: no fork may wait for the stop.
  EXPECT_TRUE(WaitUntil([&] { return std::string(lw_why_off()) == "it is being stopped"; }));
  EXPECT_EQ(InForkedChild([] { return lw_why_off()[0] == '\0' ? 1 : 7; }), 7);
  EXPECT_FALSE(has_stopped.load());
  transport.is_released.store(true);
  stopper.join();
  EXPECT_EQ(transport.child_result.load(), 7);
}

}  // namespace
}  // namespace lagwatch
