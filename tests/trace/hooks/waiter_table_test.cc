// SPDX-License-Identifier: Apache-2.0
#include "trace/hooks/waiter_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace lagwatch::trace {
namespace {

TEST(WaiterTable, KnowsWhoWaits) {
  auto table = std::make_unique<WaiterTable>();
  constexpr uint64_t kLock = 0x7fff'1234'5678;
  WaiterTable::Cell* first = table->Enter(kLock);
  WaiterTable::Cell* second = table->Enter(kLock);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(table->HasWaiter(kLock));
  EXPECT_FALSE(table->HasWaiter(kLock + 8));
  WaiterTable::Leave(first);
  EXPECT_TRUE(table->HasWaiter(kLock));
  WaiterTable::Leave(second);
  EXPECT_FALSE(table->HasWaiter(kLock));
}

TEST(WaiterTable, ARefusedWaiterIsCountedAndStillSeenToHaveCome) {
  auto table = std::make_unique<WaiterTable>();
  uint64_t address = 0;
  while (table->refused_count() == 0) {
    address += 4;
    const auto watch = table->BeforeRelease(address);
    EXPECT_FALSE(table->AfterRelease(address, watch));
    WaiterTable::Cell* cell = table->Enter(address);
    EXPECT_EQ(cell != nullptr, table->HasWaiter(address));
    EXPECT_TRUE(table->AfterRelease(address, watch));
  }
  EXPECT_GT(address, 4u * 500) << "they are spread over all of it";
}

TEST(WaiterTable, ThatOnesWhoLeftBeforeTheWakerLookedWereThere) {
  auto table = std::make_unique<WaiterTable>();
  const auto watch = table->BeforeRelease(64);
  WaiterTable::Leave(table->Enter(64));
  EXPECT_FALSE(table->HasWaiter(64));
  EXPECT_TRUE(table->AfterRelease(64, watch));
}

// A word that is taken and given back, as a lock's. Each release has a number, and records whether it saw
// waiters; a thread that entered and then still found the word taken looks up the release that let it in.
TEST(WaiterTable, NoWakerMissesAWaiter) {
  constexpr uint32_t kReleases = 200'000;
  auto table = std::make_unique<WaiterTable>();
  auto has_known = std::make_unique<std::atomic<uint8_t>[]>(kReleases + 1);  // 1: no, 2: yes
  std::atomic<uint32_t> lock{0};
  const auto address = reinterpret_cast<uint64_t>(&lock);
  uint32_t releases = 0;  // under the lock
  std::atomic<uint32_t> waits{0};
  std::atomic<uint32_t> missed{0};
  auto take_turns = [&] {
    for (bool is_over = false; !is_over;) {
      bool has_waited = false;
      if (lock.exchange(1) != 0) {
        WaiterTable::Cell* cell = table->Enter(address);
        has_waited = lock.exchange(1) != 0;
        while (has_waited && lock.exchange(1) != 0) std::this_thread::yield();
        WaiterTable::Leave(cell);
      }
      const uint32_t before = releases;
      const uint32_t own = releases = std::min(releases + 1, kReleases);
      is_over = own == kReleases;
      const auto watch = table->BeforeRelease(address);
      lock.store(0, std::memory_order_release);
      has_known[own] = table->AfterRelease(address, watch) ? 2 : 1;
      if (!has_waited || before == 0 || before == kReleases) continue;
      ++waits;
      while (has_known[before] == 0) std::this_thread::yield();
      if (has_known[before] != 2) ++missed;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(take_turns);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(0u, missed) << "of " << waits;
  EXPECT_FALSE(table->HasWaiter(address));
}

}  // namespace
}  // namespace lagwatch::trace
