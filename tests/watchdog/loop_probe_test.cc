// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::watchdog {
namespace {

TEST(LoopProbe, ShowsTheDispatchUnderWay) {
  LoopProbe probe;
  EXPECT_EQ(probe.Read().number, 0u);
  uint64_t before = base::ReadTicks();
  probe.Begin("first");
  LoopProbe::Dispatch dispatch = probe.Read();
  EXPECT_EQ(dispatch.number, 1u);
  EXPECT_STREQ(dispatch.tag, "first");
  EXPECT_GE(dispatch.begin_ticks, before);
  EXPECT_TRUE(probe.IsStillIn(1));
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
  EXPECT_FALSE(probe.IsStillIn(1));
  probe.Begin("second");
  EXPECT_EQ(probe.Read().number, 2u);
}

TEST(LoopProbe, CountsOnlyTheOutermostOfNestedDispatches) {
  LoopProbe probe;
  probe.Begin("outer");
  probe.Begin("inner");
  EXPECT_STREQ(probe.Read().tag, "outer");
  probe.End();
  EXPECT_TRUE(probe.IsStillIn(1));
  probe.End();
  EXPECT_FALSE(probe.IsStillIn(1));
}

TEST(LoopProbe, IgnoresAStrayEnd) {
  LoopProbe probe;
  probe.End();
  probe.Begin("one");
  EXPECT_EQ(probe.Read().number, 1u);
  probe.End();
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("two");
  EXPECT_EQ(probe.Read().number, 2u);
}

// A dialog runs the loop in a dispatch.
TEST(LoopProbe, SetsADispatchAsideThatWaits) {
  LoopProbe probe;
  probe.Begin("button");
  probe.WaitBegin();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.WaitBegin();  // by another adapter
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("key");
  EXPECT_STREQ(probe.Read().tag, "key");
  probe.Begin("inside");
  EXPECT_STREQ(probe.Read().tag, "key");
  probe.End();
  EXPECT_STREQ(probe.Read().tag, "key");
  const uint64_t key = probe.Read().number;
  probe.End();  // the dialog has closed: its button's function goes on
  EXPECT_STREQ(probe.Read().tag, "button");
  EXPECT_GT(probe.Read().number, key);
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("next");
  EXPECT_STREQ(probe.Read().tag, "next");
  probe.Begin("inside");
  probe.End();
  EXPECT_STREQ(probe.Read().tag, "next");
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

TEST(LoopProbe, TakesWaitsAloneForALoop) {
  LoopProbe probe;
  probe.WaitBegin();
  probe.WaitEnd("turn");
  EXPECT_STREQ(probe.Read().tag, "turn");
  const uint64_t turn = probe.Read().number;
  probe.WaitEnd("by another adapter");
  EXPECT_EQ(probe.Read().number, turn);
  probe.Turn(nullptr);
  EXPECT_GT(probe.Read().number, turn);
  EXPECT_EQ(probe.Read().tag, nullptr);
  probe.Begin("callback");
  EXPECT_STREQ(probe.Read().tag, "callback");
  const uint64_t callback = probe.Read().number;
  probe.End();
  EXPECT_GT(probe.Read().number, callback) << "the time after it is watched, too";
  EXPECT_EQ(probe.Read().tag, nullptr);
  probe.WaitBegin();
  EXPECT_EQ(probe.Read().number, 0u);
}

TEST(LoopProbe, GoesOnWithATurnAfterAPair) {
  LoopProbe probe;
  probe.WaitEnd("turn");
  for (int i = 0; i < 3; ++i) {
    probe.Begin("callback");
    probe.Begin("inside");
    probe.End();
    EXPECT_STREQ(probe.Read().tag, "callback");
    probe.End();
    EXPECT_STREQ(probe.Read().tag, "turn");
  }
  probe.Begin("dialog");
  probe.WaitBegin();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.WaitEnd("key");
  EXPECT_STREQ(probe.Read().tag, "key");
  probe.Begin("inside the dialog");
  probe.End();
  EXPECT_STREQ(probe.Read().tag, "dialog");
  probe.WaitBegin();
  probe.End();  // it is closed while its loop waits, by an exception for example
  EXPECT_STREQ(probe.Read().tag, "turn");
  probe.WaitBegin();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("no turn around it");
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

// The C header's inline ends ask only whether `nested` is 0.
TEST(LoopProbe, CountsATurnAmongThePairsAroundOneInIt) {
  LoopProbe probe;
  probe.WaitEnd("turn");
  probe.Begin("callback");
  EXPECT_NE(probe.words().nested, 0u);
  probe.End();
  EXPECT_EQ(probe.words().nested, 0u);
}

TEST(LoopProbe, GoesOnOutsideWhenAPairEndsThatWaits) {
  LoopProbe probe;
  probe.Begin("outer");
  probe.Begin("inner");
  probe.WaitBegin();
  probe.End();  // of "inner", by an exception for example
  EXPECT_STREQ(probe.Read().tag, "outer");
  probe.WaitBegin();
  probe.WaitEnd(nullptr);
  EXPECT_STREQ(probe.Read().tag, "outer");
  const uint64_t number = probe.Read().number;
  probe.Turn(nullptr);
  EXPECT_STREQ(probe.Read().tag, "outer");
  EXPECT_GT(probe.Read().number, number);
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

TEST(LoopProbe, CountsPairsBeyondThoseThatItNames) {
  constexpr int kDeep = 100;
  LoopProbe probe;
  for (int i = 0; i < kDeep; ++i) {
    probe.Begin("pair");
    probe.WaitBegin();
  }
  for (int i = 0; i < kDeep; ++i) {
    EXPECT_EQ(probe.Read().number != 0, i != 0);
    probe.End();
  }
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("next");
  EXPECT_STREQ(probe.Read().tag, "next");
}

// The C header's inline ends know nothing of waits.
TEST(LoopProbe, RecoversFromAnEndWithoutATimeStamp) {
  LoopProbe probe;
  auto* words = const_cast<LoopWords*>(&probe.words());
  probe.Begin("outer");
  probe.WaitBegin();
  --words->nested;
  probe.Begin("next");
  probe.Begin("inside");
  probe.End();
  EXPECT_STREQ(probe.Read().tag, "next");
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

TEST(LoopProbe, GivesADispatchWithoutATimeStampNoLengthWhenItWaits) {
  LoopProbe probe;
  probe.SetLimits({.slow_ticks = 1});
  auto* words = const_cast<LoopWords*>(&probe.words());
  words->begin_ticks.store(LoopProbe::kUntimed);
  words->tag.store("counted");
  words->begun.store(1);
  probe.WaitBegin();
  EXPECT_EQ(probe.SlowDurationTicks(1), 0u);
  probe.WaitEnd(nullptr);
  EXPECT_STREQ(probe.Read().tag, "counted");
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

TEST(LoopProbe, HasNoTagsOfTheLoopBefore) {
  LoopProbe probe;
  probe.Begin("gone");
  probe.WaitBegin();
  probe.Reset();
  auto* words = const_cast<LoopWords*>(&probe.words());
  words->nested = 1;
  probe.WaitEnd(nullptr);
  EXPECT_EQ(probe.Read().tag, nullptr);
}

TEST(LoopProbe, KeepsTheDurationOfSlowDispatchesOnly) {
  LoopProbe probe;
  probe.Begin("slow, but nobody asks");
  probe.End();
  EXPECT_EQ(probe.SlowDurationTicks(1), 0u);
  probe.SetLimits({.slow_ticks = 0});
  uint64_t before = base::ReadTicks();
  probe.Begin("slow");
  probe.End();
  uint64_t at_most = base::ReadTicks() - before;
  EXPECT_GT(probe.SlowDurationTicks(2), 0u);
  EXPECT_LE(probe.SlowDurationTicks(2), at_most);
  EXPECT_EQ(probe.SlowDurationTicks(1), 0u);
}

class LoopProbeHistoryTest : public ::testing::Test {
 protected:
  LoopProbeHistoryTest() { probe_.SetHistory(history_.get()); }
  DispatchHistory::Dispatch Last() const {
    DispatchHistory::Dispatch last{};
    for (size_t i = 0; history_->Read(i, &last); ++i) {
    }
    return last;
  }

  std::unique_ptr<DispatchHistory> history_ = std::make_unique<DispatchHistory>();
  LoopProbe probe_;
};

TEST_F(LoopProbeHistoryTest, KeepsTheTagsTextOfWhatIsLongEnough) {
  probe_.SetLimits({.history_ticks = 0});
  std::string tag = "a tag that is too long for its place";
  uint64_t before = base::ReadTicks();
  probe_.Begin(tag.c_str());
  probe_.End();
  tag.assign(tag.size(), 'x');
  EXPECT_EQ(Last().tag, std::string("a tag that is too long for its ").substr(0, 31));
  EXPECT_GE(Last().begin_ticks, before);
  EXPECT_GT(Last().duration_ticks, 0u);
  EXPECT_EQ(Last().cpu_ns, 0);
  EXPECT_EQ(probe_.SlowDurationTicks(1), 0u);
  probe_.Begin(nullptr);
  probe_.End();
  EXPECT_STREQ(Last().tag, "");
  const auto function = reinterpret_cast<uint64_t>(&setenv);
  probe_.Begin(reinterpret_cast<const char*>(function | kFunctionTagBits));
  probe_.End();
  char text[32];
  std::snprintf(text, sizeof text, "&0x%" PRIx64, function);
  EXPECT_STREQ(Last().tag, text);
  errno = 77;
  probe_.Begin(reinterpret_cast<const char*>(16));
  probe_.End();
  EXPECT_STREQ(Last().tag, "");
  EXPECT_EQ(errno, 77);
}

TEST_F(LoopProbeHistoryTest, LeavesOutWhatIsShortOrHasNoTimeStamp) {
  probe_.SetLimits({.history_ticks = UINT64_MAX / 2});
  probe_.Begin("short");
  probe_.End();
  probe_.SetLimits({.history_ticks = 0});
  auto* words = reinterpret_cast<LoopWords*>(&probe_);
  words->begin_ticks = LoopProbe::kUntimed;
  ++words->begun;
  probe_.End();
  EXPECT_EQ(Last().duration_ticks, 0u);
}

TEST_F(LoopProbeHistoryTest, ItsTrackHasWhatWasAskedForToo) {
  const auto track = std::make_unique<DispatchHistory>();
  probe_.SetTrack(track.get());
  probe_.SetThread(base::OwnThread(77));
  constexpr uint64_t kLong = 50'000'000;
  probe_.SetLimits({.history_ticks = kLong});
  for (const char* tag : {"short", "asked for", "short"}) {
    probe_.Begin(tag);
    if (tag[0] == 'a') probe_.RequestTrack();
    probe_.End();
  }
  probe_.Begin("long");
  for (const uint64_t begin = base::ReadTicks(); base::ReadTicks() - begin <= kLong;) {
  }
  probe_.End();
  ASSERT_EQ(track->count(), 2u);
  DispatchHistory::Dispatch dispatch;
  ASSERT_TRUE(track->ReadNumber(1, &dispatch));
  EXPECT_STREQ(dispatch.tag, "asked for");
  EXPECT_EQ(dispatch.number, 2u);
  EXPECT_EQ(dispatch.tid, 77);
  ASSERT_TRUE(track->ReadNumber(2, &dispatch));
  EXPECT_STREQ(dispatch.tag, "long");
  EXPECT_EQ(history_->count(), 1u);
}

TEST_F(LoopProbeHistoryTest, TellsTheCpuTimeOfSlowOnes) {
  // The clock is read at each begin.
  probe_.SetLimits({.history_ticks = 0, .cpu_ticks = 0, .cpu_read_interval_ticks = 1});
  probe_.Begin("sleep");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  probe_.End();
  int64_t asleep_ns = Last().cpu_ns;
  probe_.Begin("compute");
  int64_t begin_ns = base::ThreadCpuNs(gettid());
  while (base::ThreadCpuNs(gettid()) < begin_ns + 200'000'000) {
  }
  probe_.End();
  EXPECT_GT(asleep_ns, 0);
  EXPECT_LT(asleep_ns, 100'000'000);
  EXPECT_GE(Last().cpu_ns, 200'000'000);
}

TEST(LoopProbe, IsIdleAfterAReset) {
  LoopProbe probe;
  probe.Begin("left by its thread");
  probe.Begin("nested");
  probe.Reset();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("next");
  EXPECT_EQ(probe.Read().number, 2u);
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

// A reader must never pair one dispatch's number with another's tag.
TEST(LoopProbe, IsReadConsistentlyWhileTheLoopRuns) {
  LoopProbe probe;
  constexpr uint64_t kTags = 4096;
  static char tags[kTags];  // the tag of dispatch n is the address of tags[n % kTags]
  std::atomic<bool> is_enough{false};
  std::thread loop([&] {
    for (uint64_t n = 1; !is_enough.load(); ++n) {
      probe.Begin(&tags[n % kTags]);
      probe.End();
    }
  });
  for (int seen = 0; seen < 20'000;) {
    LoopProbe::Dispatch dispatch = probe.Read();
    if (dispatch.number == 0) continue;
    ++seen;
    EXPECT_EQ(dispatch.tag, &tags[dispatch.number % kTags]);
  }
  is_enough = true;
  loop.join();
}

}  // namespace
}  // namespace lagwatch::watchdog
