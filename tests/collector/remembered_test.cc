// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/remembered.h"

#include <gtest/gtest.h>

#include <thread>

namespace lagwatch::collector {
namespace {

thread_local int calls = 0;

std::string Twice(std::string_view name) {
  ++calls;
  return std::string(name) + std::string(name);
}

TEST(Remembered, IsMadeOnce) {
  calls = 0;
  EXPECT_EQ(Remembered<Twice>("one"), "oneone");
  EXPECT_EQ(Remembered<Twice>("two"), "twotwo");
  EXPECT_EQ(Remembered<Twice>("one"), "oneone");
  EXPECT_EQ(calls, 2);
}

TEST(Remembered, IsForgottenWhenThereIsTooMuchOfIt) {
  calls = 0;
  const std::string large(1 << 20, 'a');
  EXPECT_EQ(Remembered<Twice>("three"), "threethree");
  EXPECT_EQ(Remembered<Twice>(large + "b").size(), 2 * large.size() + 2);
  EXPECT_EQ(Remembered<Twice>(large + "c").size(), 2 * large.size() + 2);
  EXPECT_EQ(Remembered<Twice>("three"), "threethree");
  EXPECT_EQ(calls, 4);
}

TEST(Remembered, IsEachThreadsOwn) {
  std::thread([] {
    EXPECT_EQ(Remembered<Twice>("one"), "oneone");
    EXPECT_EQ(calls, 1);
  }).join();
}

}  // namespace
}  // namespace lagwatch::collector
