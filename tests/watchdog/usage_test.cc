// SPDX-License-Identifier: Apache-2.0
// The usage of loops: counted by their threads, read by the watch, summed up in a period.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

#include "base/clock.h"
#include "watchdog/events/usage_period.h"
#include "watchdog/usage_collector.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;

uint64_t SumOf(const policies::DurationHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), uint64_t{0});
}

TEST(UsagePeriod, KeepsLoopsApartByName) {
  UsagePeriod period;
  EXPECT_TRUE(period.is_empty());
  period.Of("ui")->dispatches += 1;
  EXPECT_TRUE(period.is_empty());
  period.Of("io")->watched_ns += 5;
  period.Of("ui")->dispatches += 1;
  EXPECT_FALSE(period.is_empty());
  ASSERT_EQ(period.loops().size(), 2u);
  EXPECT_STREQ(period.loops()[0].loop, "ui");
  EXPECT_EQ(period.loops()[0].usage.dispatches, 2u);
  period.Clear();
  EXPECT_TRUE(period.loops().empty());
  EXPECT_EQ(period.Of("ui")->dispatches, 0u);
}

TEST(UsagePeriod, CountsTogetherWhatFindsNoPlace) {
  UsagePeriod period;
  for (int i = 0; i < 200; ++i) {
    period.Of(("loop " + std::to_string(i)).c_str())->dispatches += 1;
    period.AddSlow("ui", ("tag " + std::to_string(i)).c_str(), 800 * kNsPerMs);
  }
  ASSERT_EQ(period.loops().size(), UsagePeriod::kMaxLoops);
  EXPECT_STREQ(period.loops().back().loop, UsagePeriod::kOthers);
  EXPECT_EQ(period.loops().back().usage.dispatches, 200 - UsagePeriod::kMaxLoops + 1);
  ASSERT_EQ(period.slow().size(), UsagePeriod::kMaxTags);
  EXPECT_STREQ(period.slow().back().tag, UsagePeriod::kOthers);
  EXPECT_EQ(period.slow().back().dispatches.count, 200 - UsagePeriod::kMaxTags + 1);
}

TEST(UsagePeriod, SumsUpATagsSlowDispatches) {
  UsagePeriod period;
  std::string endless(100, 'x');
  period.AddSlow("ui", "open", 900 * kNsPerMs);
  period.AddSlow("ui", "open", 1'100 * kNsPerMs);
  period.AddSlow("io", "open", 800 * kNsPerMs);
  period.AddSlow("io", endless.c_str(), 800 * kNsPerMs);
  period.AddSlow("io", endless.c_str(), 800 * kNsPerMs);
  ASSERT_EQ(period.slow().size(), 3u);
  const policies::SlowDispatches& open = period.slow()[0].dispatches;
  EXPECT_EQ(open.count, 2u);
  EXPECT_EQ(open.total_ns, 2'000 * kNsPerMs);
  EXPECT_EQ(open.longest_ns, 1'100 * kNsPerMs);
  EXPECT_EQ(open.durations.counts[10], 1u);  // from 512 ms on
  EXPECT_EQ(open.durations.counts[11], 1u);
  EXPECT_EQ(period.slow()[2].dispatches.count, 2u);
}

class UsageReaderTest : public ::testing::Test {
 protected:
  UsageReaderTest() {
    probe_.SetHistory(history_.get());
    probe_.SetNotes(notes_.get());
    // Ticks are of no known length here: a "millisecond" that nothing is shorter than, and notes of all.
    probe_.SetLimits({.history_ticks = 1, .note_ticks = 1});
  }
  void Dispatch(const char* tag) {
    probe_.Begin(tag);
    uint64_t begin_ticks = base::ReadTicks();
    while (base::ReadTicks() - begin_ticks < 100) {
    }
    probe_.End();
  }
  uint64_t ReadNotes() {
    DispatchHistory::Dispatch note;
    uint64_t count = 0;
    uint64_t lost = 0;
    while (reader_.ReadNote(probe_, &note, &lost)) {
      ++count;
      lost_ += lost;
      last_tag_ = note.tag;
    }
    lost_ += lost;
    return count;
  }

  std::unique_ptr<DispatchHistory> history_ = std::make_unique<DispatchHistory>();
  std::unique_ptr<DispatchHistory> notes_ = std::make_unique<DispatchHistory>();
  LoopProbe probe_;
  UsageReader reader_;
  uint64_t lost_ = 0;
  std::string last_tag_;
};

TEST_F(UsageReaderTest, CountsWhatEndedSinceItBegan) {
  Dispatch("before");
  reader_.Skip(probe_);
  Dispatch("one");
  Dispatch("two");
  probe_.Begin("goes on");
  policies::LoopUsage usage;
  reader_.ReadCounts(probe_, &usage);
  EXPECT_EQ(usage.dispatches, 2u);
  EXPECT_EQ(usage.untimed_dispatches, 0u);
  EXPECT_EQ(SumOf(usage.durations), 2u);
  EXPECT_EQ(usage.durations.counts[0], 0u);
  reader_.ReadCounts(probe_, &usage);
  EXPECT_EQ(usage.dispatches, 2u);
  EXPECT_EQ(ReadNotes(), 2u);
  EXPECT_EQ(last_tag_, "two");
  EXPECT_EQ(ReadNotes(), 0u);
}

TEST_F(UsageReaderTest, CountsTheShortOnesByDifference) {
  reader_.Skip(probe_);
  probe_.SetLimits({.history_ticks = UINT64_MAX / 2});
  for (int i = 0; i < 1000; ++i) Dispatch("short");
  policies::LoopUsage usage;
  reader_.ReadCounts(probe_, &usage);
  EXPECT_EQ(usage.dispatches, 1000u);
  EXPECT_EQ(usage.durations.counts[0], 1000u);
  EXPECT_EQ(ReadNotes(), 0u);
}

TEST_F(UsageReaderTest, TellsTheUntimedApart) {
  reader_.Skip(probe_);
  auto* words = reinterpret_cast<LoopWords*>(&probe_);
  for (int i = 0; i < 7; ++i) {
    words->begin_ticks = LoopProbe::kUntimed;
    ++words->begun;
    ++words->ended;
  }
  policies::LoopUsage usage;
  reader_.ReadCounts(probe_, &usage);
  EXPECT_EQ(usage.dispatches, 7u);
  EXPECT_EQ(usage.untimed_dispatches, 7u);
  EXPECT_EQ(SumOf(usage.durations), 0u);
}

TEST_F(UsageReaderTest, TellsHowManyNotesWereOverwritten) {
  reader_.Skip(probe_);
  constexpr uint64_t kAll = DispatchHistory::kMaxDispatches + 50;
  for (uint64_t i = 0; i < kAll; ++i) Dispatch("many");
  EXPECT_EQ(ReadNotes(), DispatchHistory::kMaxDispatches);
  EXPECT_EQ(lost_, 50u);
}

TEST_F(UsageReaderTest, CountsOnWhenThePlaceHasANewLoop) {
  reader_.Skip(probe_);
  Dispatch("old");
  probe_.Begin("left by its thread");
  probe_.Reset();
  Dispatch("new");
  policies::LoopUsage usage;
  reader_.ReadCounts(probe_, &usage);
  EXPECT_EQ(usage.dispatches, 3u);
  EXPECT_EQ(ReadNotes(), 2u);
}

// No sum is ever lost, counted twice or less than nothing, whenever it is read.
TEST_F(UsageReaderTest, IsExactWhileTheLoopRuns) {
  reader_.Skip(probe_);
  constexpr uint64_t kAll = 200'000;
  std::atomic<bool> is_over{false};
  std::thread loop([&] {
    for (uint64_t i = 0; i < kAll; ++i) Dispatch("one");
    is_over = true;
  });
  policies::LoopUsage usage;
  uint64_t before = 0;
  for (bool is_last = false; !is_last;) {
    is_last = is_over.load();
    reader_.ReadCounts(probe_, &usage);
    EXPECT_GE(usage.dispatches, before);
    EXPECT_EQ(SumOf(usage.durations), usage.dispatches);
    before = usage.dispatches;
  }
  loop.join();
  EXPECT_EQ(usage.dispatches, kAll);
  EXPECT_EQ(usage.durations.counts[0], 0u);
}

}  // namespace
}  // namespace lagwatch::watchdog
