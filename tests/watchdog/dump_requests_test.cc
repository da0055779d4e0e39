// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/dump_requests.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace lagwatch::watchdog {
namespace {

using Answer = DumpRequests::Answer;

class DumpRequestsTest : public ::testing::Test {
 protected:
  base::Sleeper sleeper_;
  DumpRequests requests_{&sleeper_};
  DumpRequest request_{};
};

TEST_F(DumpRequestsTest, AreOffUntilOpenedAndOnceClosed) {
  EXPECT_EQ(requests_.Ask("early", 0), Answer::kOff);
  requests_.Open(0);
  EXPECT_EQ(requests_.Ask("pending", 0), Answer::kAccepted);
  requests_.Close();
  EXPECT_EQ(requests_.Ask("late", 0), Answer::kOff);
  EXPECT_FALSE(requests_.Take(&request_));
  requests_.Open(0);
  EXPECT_FALSE(requests_.Take(&request_));
  EXPECT_EQ(requests_.refused_count(), 0u);
}

TEST_F(DumpRequestsTest, ArriveAsTheyWereAskedAndWakeTheWatchdog) {
  requests_.Open(0);
  std::thread asking([&] { requests_.Ask("why", 12); });
  sleeper_.SleepUntil(base::Sleeper::kForever);
  asking.join();
  ASSERT_TRUE(requests_.Take(&request_));
  EXPECT_STREQ(request_.reason, "why");
  EXPECT_EQ(request_.signal_number, 12);
  EXPECT_FALSE(requests_.Take(&request_));
}

TEST_F(DumpRequestsTest, AreRefusedUntilTheOneBeforeIsFinished) {
  requests_.Open(0);
  EXPECT_EQ(requests_.Ask("first", 0), Answer::kAccepted);
  EXPECT_EQ(requests_.Ask("second", 0), Answer::kRefused);
  ASSERT_TRUE(requests_.Take(&request_));
  EXPECT_EQ(requests_.Ask("third", 0), Answer::kRefused);
  requests_.Finish();
  EXPECT_EQ(requests_.Ask(nullptr, 0), Answer::kAccepted);
  ASSERT_TRUE(requests_.Take(&request_));
  EXPECT_STREQ(request_.reason, "");
  EXPECT_EQ(requests_.refused_count(), 2u);
}

TEST_F(DumpRequestsTest, AreRefusedWithinTheIntervalAlsoByTheNextMonitor) {
  requests_.Open(3600 * base::kNsPerSecond);
  EXPECT_EQ(requests_.Ask("first", 0), Answer::kAccepted);
  ASSERT_TRUE(requests_.Take(&request_));
  requests_.Finish();
  EXPECT_EQ(requests_.Ask("too soon", 0), Answer::kRefused);
  requests_.Close();
  requests_.Open(3600 * base::kNsPerSecond);
  EXPECT_EQ(requests_.Ask("too soon", 0), Answer::kRefused);
  EXPECT_FALSE(requests_.Take(&request_));
}

TEST_F(DumpRequestsTest, CutALongReason) {
  requests_.Open(0);
  EXPECT_EQ(requests_.Ask(std::string(1000, 'x').c_str(), 0), Answer::kAccepted);
  ASSERT_TRUE(requests_.Take(&request_));
  EXPECT_EQ(std::string(request_.reason), std::string(DumpRequest::kMaxReasonBytes - 1, 'x'));
}

TEST_F(DumpRequestsTest, AreAcceptedOnceWhenManyAsk) {
  requests_.Open(0);
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { accepted += requests_.Ask("many", 0) == Answer::kAccepted; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(requests_.refused_count(), 7u);
}

}  // namespace
}  // namespace lagwatch::watchdog
