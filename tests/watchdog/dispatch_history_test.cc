// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/dispatch_history.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lagwatch::watchdog {
namespace {

DispatchHistory::Dispatch Numbered(uint64_t n) {
  DispatchHistory::Dispatch dispatch{.begin_ticks = n,
                                     .duration_ticks = 2 * n,
                                     .cpu_ns = static_cast<int64_t>(n),
                                     .queue_wait_ns = 0,
                                     .number = 0,
                                     .tid = 0,
                                     .tag = {}};
  std::string tag = std::to_string(n);
  std::memcpy(dispatch.tag, tag.c_str(), tag.size());
  return dispatch;
}

std::vector<uint64_t> BeginsOf(const DispatchHistory& history) {
  std::vector<uint64_t> begins;
  DispatchHistory::Dispatch dispatch;
  for (size_t i = 0; history.Read(i, &dispatch); ++i) begins.push_back(dispatch.begin_ticks);
  return begins;
}

TEST(DispatchHistory, KeepsTheLastOldestFirst) {
  auto history = std::make_unique<DispatchHistory>();
  EXPECT_TRUE(BeginsOf(*history).empty());
  for (uint64_t n = 1; n <= 3; ++n) history->Add(Numbered(n));
  EXPECT_EQ(BeginsOf(*history), (std::vector<uint64_t>{1, 2, 3}));
  for (uint64_t n = 4; n <= 1000; ++n) history->Add(Numbered(n));
  std::vector<uint64_t> begins = BeginsOf(*history);
  ASSERT_EQ(begins.size(), DispatchHistory::kMaxDispatches);
  EXPECT_EQ(begins.front(), 801u);
  EXPECT_EQ(begins.back(), 1000u);
  DispatchHistory::Dispatch dispatch;
  ASSERT_TRUE(history->Read(0, &dispatch));
  EXPECT_STREQ(dispatch.tag, "801");
  EXPECT_EQ(dispatch.duration_ticks, 1602u);
  EXPECT_EQ(dispatch.cpu_ns, 801);
}

TEST(DispatchHistory, IsEmptyAfterAReset) {
  auto history = std::make_unique<DispatchHistory>();
  for (uint64_t n = 1; n <= 300; ++n) history->Add(Numbered(n));
  history->Reset();
  EXPECT_TRUE(BeginsOf(*history).empty());
  history->Add(Numbered(7));
  EXPECT_EQ(BeginsOf(*history), (std::vector<uint64_t>{7}));
}

// A reader never gets one dispatch's words mixed with another's.
TEST(DispatchHistory, IsReadConsistentlyWhileTheLoopRuns) {
  auto history = std::make_unique<DispatchHistory>();
  std::atomic<bool> is_enough{false};
  std::thread loop([&] {
    for (uint64_t n = 1; !is_enough.load(); ++n) history->Add(Numbered(n));
  });
  size_t index = 0;
  for (int seen = 0; seen < 20'000;) {
    DispatchHistory::Dispatch dispatch;
    index = (index + 7) % DispatchHistory::kMaxDispatches;
    if (!history->Read(index, &dispatch)) continue;
    ++seen;
    EXPECT_EQ(dispatch.duration_ticks, 2 * dispatch.begin_ticks);
    EXPECT_EQ(dispatch.tag, std::to_string(dispatch.begin_ticks));
  }
  is_enough = true;
  loop.join();
}

}  // namespace
}  // namespace lagwatch::watchdog
