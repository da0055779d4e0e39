// SPDX-License-Identifier: Apache-2.0
#include "policies/cpu_load.h"

#include <gtest/gtest.h>

#include <vector>

namespace lagwatch::policies {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(CpuLoad, APercentageIsOfAllProcessors) {
  EXPECT_TRUE(IsOverPercent(161, 100, 2, 80));
  EXPECT_FALSE(IsOverPercent(160, 100, 2, 80));
  EXPECT_FALSE(IsOverPercent(81, 100, 2, 80));
  EXPECT_EQ(PercentOf(150, 100), 150);
  EXPECT_EQ(PercentOf(1, 0), 0);
}

TEST(BusiestThreads, AreInOrderAndThoseThatUsedMost) {
  BusiestThreads busiest;
  for (int32_t tid = 1; tid <= 40; ++tid) busiest.Add({tid, (tid * 7) % 41});
  ASSERT_EQ(busiest.all().size(), BusiestThreads::kMaxThreads);
  for (size_t i = 0; i < busiest.all().size(); ++i)
    EXPECT_EQ(busiest.all()[i].cpu_ns, 40 - static_cast<int64_t>(i));
  busiest.Clear();
  EXPECT_TRUE(busiest.all().empty());
}

TEST(BusiestThreads, ThoseOverAPercentageAreTheFirst) {
  BusiestThreads busiest;
  busiest.Add({1, 4});
  busiest.Add({2, 60});
  busiest.Add({3, 5});
  busiest.Add({4, 6});
  busiest.Add({5, 0});
  EXPECT_EQ(busiest.all().size(), 4u);
  auto over = busiest.Over(5, 100, 3);
  ASSERT_EQ(over.size(), 2u);
  EXPECT_EQ(over[0].tid, 2);
  EXPECT_EQ(over[1].tid, 4);
  EXPECT_EQ(busiest.Over(5, 100, 1).size(), 1u);
}

TEST(CpuSpell, IsToldOnce) {
  CpuSpell spell(60 * kSecond);
  EXPECT_FALSE(spell.Update(false, 1 * kSecond));
  EXPECT_TRUE(spell.Update(true, 2 * kSecond));
  for (int64_t s = 3; s < 200; ++s) EXPECT_FALSE(spell.Update(true, s * kSecond));
}

TEST(CpuSpell, IsToldAgainAfterThePauseAndTheCoolDown) {
  CpuSpell spell(60 * kSecond);
  EXPECT_TRUE(spell.Update(true, 10 * kSecond));
  EXPECT_FALSE(spell.Update(false, 11 * kSecond));
  EXPECT_FALSE(spell.Update(true, 69 * kSecond));
  EXPECT_TRUE(spell.Update(true, 70 * kSecond));
  EXPECT_FALSE(spell.Update(false, 71 * kSecond));
  EXPECT_TRUE(spell.Update(true, 200 * kSecond));
}

TEST(CpuWindow, IsFullOnceAWholeWindowIsKnown) {
  CpuWindow window(60 * kSecond);
  for (int i = 0; i < 59; ++i) {
    window.Add(kSecond, kSecond / 2);
    EXPECT_FALSE(window.is_full());
  }
  for (int i = 0; i < 500; ++i) {
    window.Add(kSecond, kSecond / 2);
    ASSERT_TRUE(window.is_full());
    EXPECT_LE(window.wall_ns(), 65 * kSecond);
    EXPECT_EQ(window.cpu_ns() * 2, window.wall_ns());
  }
  window.Restart();
  EXPECT_FALSE(window.is_full());
  EXPECT_EQ(window.cpu_ns(), 0);
}

TEST(CpuWindow, ForgetsWhatIsOlder) {
  CpuWindow window(60 * kSecond);
  for (int i = 0; i < 100; ++i) window.Add(kSecond, kSecond);
  for (int i = 0; i < 66; ++i) window.Add(kSecond, 0);
  EXPECT_EQ(window.cpu_ns(), 0);
  EXPECT_TRUE(window.is_full());
}

TEST(CpuWindow, CountsTheSlicesThatBegin) {
  CpuWindow window(60 * kSecond);
  size_t begun = 0;
  for (int i = 0; i < 60; ++i) begun += window.Add(kSecond, 0);
  EXPECT_EQ(begun, 11u);
  EXPECT_EQ(window.Add(kSecond, 0), 1u);
  EXPECT_EQ(window.Add(0, 0), 0u);
}

TEST(CpuWindow, ALongIntervalCountsWithItsAverage) {
  CpuWindow window(60 * kSecond);
  window.Add(30 * kSecond, 30 * kSecond);
  EXPECT_EQ(window.Add(86'400 * kSecond, 43'200 * kSecond), CpuWindow::kSlices);
  EXPECT_EQ(window.wall_ns(), 65 * kSecond);
  EXPECT_NEAR(static_cast<double>(window.cpu_ns()), 32.5e9, 1e3);
}

TEST(CpuWindow, TakesWindowsThatTwelveDoesNotDivide) {
  for (int64_t window_ns : {int64_t{1}, int64_t{13}, 1'000'000'007 * int64_t{1}}) {
    CpuWindow window(window_ns);
    for (int i = 0; i < 40; ++i) window.Add(window_ns, window_ns / 2);
    EXPECT_TRUE(window.is_full());
  }
}

}  // namespace
}  // namespace lagwatch::policies
