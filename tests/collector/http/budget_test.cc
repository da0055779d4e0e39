// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lagwatch::collector {
namespace {

TEST(Budget, IsSharedAndGivenBack) {
  Budget budget(10, 0);
  auto all = budget.TryTake("a", 10);
  ASSERT_TRUE(all);
  EXPECT_FALSE(budget.TryTake("b", 1));
  all.reset();
  EXPECT_EQ(budget.taken(), 0u);
  EXPECT_TRUE(budget.TryTake("b", 1));
}

TEST(Budget, LetsNoPeerHaveMoreThanItsPart) {
  Budget budget(10, 4);
  auto first = budget.TryTake("a", 3);
  EXPECT_FALSE(budget.TryTake("a", 2));
  auto second = budget.TryTake("a", 1);
  EXPECT_TRUE(second);
  EXPECT_TRUE(budget.TryTake("b", 4));
  EXPECT_FALSE(budget.TryTake("b", UINT64_MAX));
  first.reset();
  EXPECT_TRUE(budget.TryTake("a", 3));
}

TEST(Budget, ResizesAShareWithinItsLimits) {
  Budget budget(10, 6);
  auto share = budget.TryTake("a", 2);
  EXPECT_FALSE(share->TryResize(7));
  EXPECT_EQ(share->amount(), 2u);
  EXPECT_TRUE(share->TryResize(6));
  auto other = budget.TryTake("b", 4);
  EXPECT_FALSE(other->TryResize(5));
  EXPECT_TRUE(share->TryResize(1));
  EXPECT_EQ(budget.taken(), 5u);
  Budget::Share moved = std::move(*share);
  share.reset();
  EXPECT_EQ(budget.taken(), 5u);
  moved = std::move(*other);
  EXPECT_EQ(budget.taken(), 4u);
  EXPECT_TRUE(Budget::Share().TryResize(UINT64_MAX));
}

// Bodies that are not whole give way, the largest first.
TEST(Budget, TheLargestKeyAndPeerLosesWhatIsRevocable) {
  Budget budget(1000, 0);
  std::vector<Budget::Share> dribbling;
  std::vector<std::string> revoked;
  const auto begin = [&](const std::string& peer, const std::string& key, uint64_t amount) {
    auto share = budget.TryAdmit({peer, key}, amount);
    ASSERT_TRUE(share);
    share->MakeRevocable([&revoked, peer, key] { revoked.push_back(peer + key); });
    ASSERT_TRUE(share->TryResize(amount));
    dribbling.push_back(std::move(*share));
  };
  begin("1", "a", 300);
  begin("2", "a", 400);
  begin("1", "b", 250);
  auto honest = budget.TryAdmit({"3", "a"}, 100);
  ASSERT_TRUE(honest);
  honest->MakeRevocable([&] { revoked.emplace_back("honest"); });
  EXPECT_TRUE(honest->TryResize(100));
  EXPECT_EQ(revoked, std::vector<std::string>{"2a"});
  EXPECT_EQ(budget.taken(), 650u);
  EXPECT_FALSE(dribbling[1].TryResize(1));
  EXPECT_FALSE(dribbling[1].TryKeep(1));
  EXPECT_TRUE(honest->TryKeep(200));
  // A larger one takes nothing from smaller ones.
  auto large = budget.TryAdmit({"4", "b"}, 600);
  ASSERT_TRUE(large);
  large->MakeRevocable([&] { revoked.emplace_back("large"); });
  EXPECT_FALSE(large->TryResize(600));
  EXPECT_EQ(revoked.size(), 1u);
}

TEST(Budget, AnOldRevocableShareGivesWayToOthersOfItsPeer) {
  Budget budget(1000, 400);
  auto old = budget.TryAdmit({"1", "a"}, 300);
  bool is_revoked = false;
  ASSERT_TRUE(old);
  old->MakeRevocable([&] { is_revoked = true; });
  ASSERT_TRUE(old->TryResize(300));
  auto young = budget.TryAdmit({"1", "a"}, 200);
  ASSERT_TRUE(young);
  EXPECT_FALSE(young->TryResize(200));
  std::this_thread::sleep_for(Budget::kSafeTime + std::chrono::milliseconds(100));
  EXPECT_TRUE(young->TryResize(200));
  EXPECT_TRUE(is_revoked);
  EXPECT_EQ(budget.taken(), 200u);
}

TEST(Budget, WhatIsKeptLeavesRoomForTheNextKeyAndPeer) {
  constexpr uint64_t kLimit = 64'000;
  Budget budget(kLimit, kLimit / 4);
  std::vector<Budget::Share> kept;
  for (int peer = 0; peer < 20; ++peer) {
    for (uint64_t amount : {16'000, 8000, 2000, 500}) {
      auto share = budget.TryAdmit({std::to_string(peer), "a"}, amount);
      if (share && share->TryKeep(amount)) kept.push_back(std::move(*share));
    }
  }
  EXPECT_LE(budget.taken(), kLimit / 4 * 3);
  EXPECT_GT(budget.taken(), kLimit / 2);
  auto of_next_peer = budget.TryAdmit({"next", "a"}, 100);
  EXPECT_TRUE(of_next_peer && of_next_peer->TryKeep(100));
  auto of_next_key = budget.TryAdmit({"0", "b"}, 4000);
  EXPECT_FALSE(of_next_key && of_next_key->TryKeep(4000)) << "the peer has its quarter";
  auto of_next_of_both = budget.TryAdmit({"next", "b"}, 4000);
  EXPECT_TRUE(of_next_of_both && of_next_of_both->TryKeep(4000));
}

TEST(Budget, AShareMayOutliveIt) {
  uint64_t told = 0;
  auto budget = std::make_unique<Budget>(100, 0, [&](uint64_t taken) { told = taken; });
  auto share = budget->TryTake("a", 60);
  ASSERT_TRUE(share.has_value());
  EXPECT_EQ(told, 60u);
  budget.reset();
  share.reset();
  EXPECT_EQ(told, 60u);  // no watcher is left
}

}  // namespace
}  // namespace lagwatch::collector
