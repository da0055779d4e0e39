// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace lagwatch::watchdog {
namespace {

class LoopRegistryTest : public ::testing::Test {
 protected:
  size_t CountInUse() {
    size_t count = 0;
    for (WatchedLoop& loop : registry_->places()) count += loop.generation.load() % 2;
    return count;
  }

  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
};

TEST_F(LoopRegistryTest, KeepsNameAndThread) {
  WatchedLoop* loop = registry_->Add("ui", 42);
  ASSERT_NE(loop, nullptr);
  char name[WatchedLoop::kMaxNameBytes];
  loop->CopyName(name);
  EXPECT_STREQ(name, "ui");
  EXPECT_EQ(loop->tid.load(), 42);
}

TEST_F(LoopRegistryTest, SetsALoopUpBeforeItIsSeen) {
  bool is_seen = true;
  const WatchedLoop* loop = registry_->Add("loop", 1234, [&](WatchedLoop* added) {
    is_seen = added->is_in_use();
    added->probe.Begin("early");
  });
  EXPECT_FALSE(is_seen);
  EXPECT_TRUE(loop->is_in_use());
  EXPECT_STREQ(loop->probe.Read().tag, "early");
}

TEST_F(LoopRegistryTest, CutsALongName) {
  WatchedLoop* loop = registry_->Add(std::string(100, 'n').c_str(), 1);
  char name[WatchedLoop::kMaxNameBytes];
  loop->CopyName(name);
  EXPECT_EQ(name, std::string(WatchedLoop::kMaxNameBytes - 1, 'n'));
}

TEST_F(LoopRegistryTest, RefusesWhatFindsNoPlaceAndCountsIt) {
  for (size_t i = 0; i < LoopRegistry::kMaxLoops; ++i) ASSERT_NE(registry_->Add("loop", 1), nullptr);
  EXPECT_EQ(registry_->Add("one too many", 1), nullptr);
  EXPECT_EQ(registry_->refused_count(), 1u);
}

TEST_F(LoopRegistryTest, GrowsWithoutMovingWhatIsThere) {
  WatchedLoop* first = registry_->Add("first", 1);
  std::vector<WatchedLoop*> loops;
  for (int i = 0; i < 3000; ++i) loops.push_back(registry_->Add("loop", 2));
  EXPECT_EQ(registry_->places().size(), 3001u);
  EXPECT_EQ(&registry_->places()[0], first);
  for (size_t i = 0; i < loops.size(); ++i) ASSERT_EQ(&registry_->places()[i + 1], loops[i]);
  registry_->Remove(loops[100]);
  registry_->Remove(loops[20]);
  EXPECT_EQ(registry_->Add("again", 3), loops[20]);
  EXPECT_EQ(registry_->Add("again", 3), loops[100]);
  EXPECT_EQ(registry_->Add("new", 3), &registry_->places()[3001]);
}

TEST_F(LoopRegistryTest, GivesAFreedPlaceANewGenerationAndAnIdleProbe) {
  WatchedLoop* loop = registry_->Add("first", 1);
  uint32_t generation = loop->generation.load();
  loop->probe.Begin("left behind");
  registry_->Remove(loop);
  registry_->Remove(loop);
  EXPECT_EQ(CountInUse(), 0u);
  EXPECT_EQ(registry_->Add("second", 2), loop);
  EXPECT_NE(loop->generation.load(), generation);
  EXPECT_EQ(loop->probe.Read().number, 0u);
}

TEST_F(LoopRegistryTest, ForgetsAllLoopsOfAThreadThatEnds) {
  registry_->Add("a", 1);
  registry_->Add("b", 2);
  registry_->Add("c", 1);
  registry_->RemoveThread(1);
  EXPECT_EQ(CountInUse(), 1u);
}

TEST_F(LoopRegistryTest, KeepsTheForkingThreadsLoopsInTheChild) {
  WatchedLoop* own = registry_->Add("own", 1);
  registry_->Add("other", 2);
  registry_->KeepOnlyThread(1, 77);
  EXPECT_EQ(CountInUse(), 1u);
  EXPECT_EQ(own->tid.load(), 77);
}

}  // namespace
}  // namespace lagwatch::watchdog
