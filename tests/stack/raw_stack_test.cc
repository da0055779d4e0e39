// SPDX-License-Identifier: Apache-2.0
#include "stack/frames/raw_stack.h"

#include <gtest/gtest.h>

namespace lagwatch::stack {
namespace {

constexpr MemoryRegion kRegions[] = {{0x10000, 0x20000}, {0x30000, 0x40000}, {0x40000, 0x50000}};
constexpr StackRegions kStacks{kRegions, 3, {0x7fff'0000'0000, 0x7fff'0010'0000}};

TEST(LiveStack, EndsWithTheMappingAroundTheStackPointer) {
  EXPECT_EQ(kStacks.LiveStack(0x10000).end, 0x20000u);
  EXPECT_EQ(kStacks.LiveStack(0x1ffff).end, 0x20000u);
  EXPECT_EQ(kStacks.LiveStack(0x30008).end, 0x40000u);
  EXPECT_EQ(kStacks.LiveStack(0x40000).end, 0x50000u);
}

TEST(LiveStack, EndsWithThePageOutsideOfEveryMapping) {
  EXPECT_EQ(kStacks.LiveStack(0x28123).end, 0x29000u);
  EXPECT_EQ(kStacks.LiveStack(0x50000).end, 0x51000u);
  EXPECT_EQ(kStacks.LiveStack(0x8).end, 0x1000u);
  EXPECT_EQ(StackRegions{}.LiveStack(0x12345).end, 0x13000u);
}

TEST(LiveStack, BeginsInTheRedZoneButNeverBelowTheMapping) {
  EXPECT_EQ(kStacks.LiveStack(0x18000).begin, 0x18000 - kRedZoneBytes);
  EXPECT_EQ(kStacks.LiveStack(0x10000).begin, 0x10000u);
  EXPECT_EQ(kStacks.LiveStack(0x28000).begin, 0x28000u);
}

TEST(LiveStack, OfTheMainThreadMayHaveGrown) {
  constexpr uint64_t kGrown = 0x7fff'0000'0000 - 0x3000;
  EXPECT_TRUE(kStacks.IsOnMainStack(kGrown));
  EXPECT_EQ(kStacks.LiveStack(kGrown).begin, kGrown);
  EXPECT_EQ(kStacks.LiveStack(kGrown).end, 0x7fff'0010'0000u);
  EXPECT_EQ(kStacks.LiveStack(0x7fff'0000'0000 + kRedZoneBytes / 2).begin, 0x7fff'0000'0000u);
  EXPECT_FALSE(kStacks.IsOnMainStack(0x7fff'0010'0000));
  EXPECT_FALSE(kStacks.IsOnMainStack(0x7fff'0000'0000 - kMainStackGrowthBytes - 1));
  EXPECT_FALSE(StackRegions{}.IsOnMainStack(0x1000));
}

}  // namespace
}  // namespace lagwatch::stack
