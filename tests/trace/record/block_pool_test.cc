// SPDX-License-Identifier: Apache-2.0
#include "trace/block_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace lagwatch::trace {
namespace {

// A pool in memory of its own.
class OwnedPool {
 public:
  explicit OwnedPool(uint64_t block_count)
      : memory_(::operator new (BlockPool::SizeBytes(block_count), std::align_val_t{64})) {
    std::memset(memory_, 0, BlockPool::SizeBytes(block_count));
    header()->block_count = block_count;
  }
  ~OwnedPool() { ::operator delete (memory_, std::align_val_t{64}); }
  OwnedPool(const OwnedPool&) = delete;
  OwnedPool& operator=(const OwnedPool&) = delete;
  BlockPool pool() { return BlockPool(header()); }

 private:
  BlockPoolHeader* header() { return static_cast<BlockPoolHeader*>(memory_); }
  void* memory_;
};

Block* ClaimRuns(BlockPool pool) { return pool.Claim(BlockKind::kRuns, 1, 0, 0); }

TEST(BlockPool, TheOldestClosedBlockMakesRoom) {
  OwnedPool owned(2);
  BlockPool pool = owned.pool();
  Block* first = ClaimRuns(pool);
  BlockPool::Close(first);
  Block* second = ClaimRuns(pool);
  EXPECT_NE(first, second);
  EXPECT_EQ(pool.header().overwritten_count, 0);
  Block* third = ClaimRuns(pool);
  EXPECT_EQ(first, third);
  EXPECT_EQ(pool.header().overwritten_count, 1);
}

TEST(BlockPool, AnOpenBlockIsNeverTaken) {
  OwnedPool owned(3);
  BlockPool pool = owned.pool();
  Block* kept = ClaimRuns(pool);
  for (int i = 0; i < 10; ++i) {
    Block* other = ClaimRuns(pool);
    ASSERT_NE(other, nullptr);
    EXPECT_NE(other, kept);
    BlockPool::Close(other);
  }
}

TEST(BlockPool, RefusesWhenAllAreOpen) {
  OwnedPool owned(2);
  BlockPool pool = owned.pool();
  ASSERT_NE(ClaimRuns(pool), nullptr);
  ASSERT_NE(ClaimRuns(pool), nullptr);
  EXPECT_EQ(ClaimRuns(pool), nullptr);
  EXPECT_EQ(pool.header().refused_count, 1);
}

TEST(BlockPool, AnUnusedBlockCannotBeCopied) {
  OwnedPool owned(2);
  const auto copy = std::make_unique<Block>();
  EXPECT_FALSE(owned.pool().Copy(0, copy.get()));
}

TEST(BlockPool, ACopyHoldsWhatWasPublished) {
  OwnedPool owned(2);
  BlockPool pool = owned.pool();
  Block* block = pool.Claim(BlockKind::kCalls, 7, 100, 200);
  std::memcpy(block->bytes, "seen, not seen", 14);
  block->used_bytes.store(4);
  const auto copy = std::make_unique<Block>();
  ASSERT_TRUE(pool.Copy(0, copy.get()));
  EXPECT_EQ(copy->kind, BlockKind::kCalls);
  EXPECT_EQ(copy->tid, 7);
  EXPECT_EQ(copy->base, 100);
  EXPECT_EQ(copy->code_base, 200);
  EXPECT_EQ(copy->used_bytes, 4);
  EXPECT_EQ(std::string(copy->bytes, 4), "seen");
}

#if !defined(__SANITIZE_THREAD__)  // a copy that raced is thrown away, which the sanitizer cannot know
TEST(BlockPool, CopiesAreNeverTornWhileWritersLapTheReader) {
  OwnedPool owned(4);
  std::atomic<bool> stopping{false};
  auto write = [&](uint64_t writer) {
    for (uint64_t i = 0; !stopping.load(); ++i) {
      const uint64_t word = writer << 32 | i;
      Block* block = owned.pool().Claim(BlockKind::kRuns, static_cast<int32_t>(writer), word, 0);
      if (block == nullptr) continue;
      for (uint32_t at = 0; at + sizeof word <= 1024; at += sizeof word) {
        std::memcpy(block->bytes + at, &word, sizeof word);
        block->used_bytes.store(at + sizeof word, std::memory_order_release);
      }
      BlockPool::Close(block);
    }
  };
  std::vector<std::thread> writers;
  for (uint64_t writer = 1; writer <= 2; ++writer) writers.emplace_back(write, writer);
  const auto copy = std::make_unique<Block>();
  uint64_t copied = 0;
  for (int i = 0; copied < 20'000 && i < 10'000'000; ++i) {
    if (!owned.pool().Copy(static_cast<uint64_t>(i) % 4, copy.get())) continue;
    ++copied;
    for (uint32_t at = 0; at < copy->used_bytes.load(); at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, copy->bytes + at, sizeof word);
      ASSERT_EQ(word, copy->base);
    }
  }
  stopping.store(true);
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(copied, 20'000);
}
#endif

}  // namespace
}  // namespace lagwatch::trace
