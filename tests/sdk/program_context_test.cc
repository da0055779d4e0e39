// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "sdk/report/program_facts.h"

namespace lagwatch::sdk {
namespace {

std::map<std::string, std::string> All(const ProgramValues& values) {
  std::map<std::string, std::string> all;
  values.ForEach([&](std::string_view key, std::string_view value) {
    EXPECT_TRUE(all.emplace(key, value).second) << key << " is there twice";
  });
  return all;
}

TEST(ProgramValues, AreTheLastThatWereSet) {
  ProgramValues values;
  EXPECT_TRUE(values.Set("document", "a.txt"));
  EXPECT_TRUE(values.Set("tabs", "3"));
  EXPECT_TRUE(values.Set("document", "b.txt"));
  EXPECT_EQ(All(values), (std::map<std::string, std::string>{{"document", "b.txt"}, {"tabs", "3"}}));
}

TEST(ProgramValues, AreGoneWithoutAText) {
  ProgramValues values;
  values.Set("document", "a.txt");
  EXPECT_TRUE(values.Set("document", nullptr));
  EXPECT_TRUE(All(values).empty());
  EXPECT_TRUE(values.Set("document", "again"));
  EXPECT_TRUE(values.Set("document", ""));
  EXPECT_TRUE(All(values).empty());
}

TEST(ProgramValues, RefuseKeysThatAreNoneOrTooLong) {
  ProgramValues values;
  EXPECT_FALSE(values.Set(nullptr, "x"));
  EXPECT_FALSE(values.Set("", "x"));
  EXPECT_TRUE(values.Set(std::string(ProgramValues::kMaxKeyBytes, 'k').c_str(), "fits"));
  EXPECT_FALSE(values.Set(std::string(ProgramValues::kMaxKeyBytes + 1, 'k').c_str(), "x"));
  EXPECT_EQ(All(values).size(), 1u);
}

TEST(ProgramValues, RefuseMoreKeysThanThereIsRoomFor) {
  ProgramValues values;
  for (size_t i = 0; i < ProgramValues::kMaxValues; ++i)
    EXPECT_TRUE(values.Set(std::to_string(i).c_str(), "x"));
  EXPECT_FALSE(values.Set("one more", "x"));
  EXPECT_TRUE(values.Set("0", "y"));
  EXPECT_EQ(All(values).size(), ProgramValues::kMaxValues);
  EXPECT_EQ(All(values)["0"], "y");
}

TEST(ProgramValues, AreCutToTheirRoom) {
  ProgramValues values;
  values.Set("long", std::string(1000, 'v').c_str());
  EXPECT_EQ(All(values)["long"], std::string(TextCell::kMaxBytes, 'v'));
}

TEST(ProgramValues, HaveEachKeyOnceWhoeverAddsIt) {
  for (int round = 0; round < 50; ++round) {
    ProgramValues values;
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (!go) {
        }
        for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(values.Set(key, "x"));
      });
    }
    go = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(All(values).size(), 3u);
  }
}

}  // namespace
}  // namespace lagwatch::sdk
