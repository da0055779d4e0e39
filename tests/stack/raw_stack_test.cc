// SPDX-License-Identifier: Apache-2.0
#include "stack/raw_stack.h"

#include <gtest/gtest.h>

namespace lagwatch::stack {
namespace {

constexpr MemoryRegion kRegions[] = {{0x10000, 0x20000}, {0x30000, 0x40000}, {0x40000, 0x50000}};

TEST(FindStackEnd, IsTheEndOfTheMappingAroundTheStackPointer) {
  EXPECT_EQ(FindStackEnd(0x10000, kRegions, 3), 0x20000u);
  EXPECT_EQ(FindStackEnd(0x1ffff, kRegions, 3), 0x20000u);
  EXPECT_EQ(FindStackEnd(0x30008, kRegions, 3), 0x40000u);
  EXPECT_EQ(FindStackEnd(0x40000, kRegions, 3), 0x50000u);
}

TEST(FindStackEnd, IsTheEndOfThePageOutsideOfEveryMapping) {
  EXPECT_EQ(FindStackEnd(0x28123, kRegions, 3), 0x29000u);
  EXPECT_EQ(FindStackEnd(0x50000, kRegions, 3), 0x51000u);
  EXPECT_EQ(FindStackEnd(0x8, kRegions, 3), 0x1000u);
  EXPECT_EQ(FindStackEnd(0x12345, kRegions, 0), 0x13000u);
}

}  // namespace
}  // namespace lagwatch::stack
