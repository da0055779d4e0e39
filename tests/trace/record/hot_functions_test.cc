// SPDX-License-Identifier: Apache-2.0
#include "trace/record/hot_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "trace/instrument/call_event.h"

namespace lagwatch::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kBlocks = 64;
constexpr uint64_t kTicksPerMs = 1000;
constexpr uint64_t kFrequent = 0x1000;
constexpr uint64_t kSeldom = 0x2000;
constexpr size_t kEventsPerBlock = Block::kRoomBytes / sizeof(uint64_t);

class HotFunctionsTest : public ::testing::Test {
 protected:
  HotFunctionsTest()
      : memory_(::operator new (BlockPool::SizeBytes(kBlocks), std::align_val_t{64})),
        header_(static_cast<BlockPoolHeader*>(memory_)) {
    std::memset(memory_, 0, BlockPool::SizeBytes(kBlocks));
    header_->block_count = kBlocks;
  }
  ~HotFunctionsTest() override { ::operator delete (memory_, std::align_val_t{64}); }

  // A block of calls, each entered and left: all of the frequent function except one in 100.
  void Fill(size_t events = kEventsPerBlock) const {
    Block* block = BlockPool(header_).Claim(BlockKind::kCalls, 1, 0, 0);
    ASSERT_NE(block, nullptr);
    for (size_t i = 0; i < events; ++i) {
      const uint64_t function = i / 2 % 100 == 99 ? kSeldom : kFrequent;
      const uint64_t word =
          function << CallEventWord::kAddressShift | (i % 2 == 0 ? CallEventWord::kIsEnter : 0);
      std::memcpy(block->bytes + i * sizeof word, &word, sizeof word);
    }
    block->used_bytes.store(static_cast<uint32_t>(events * sizeof(uint64_t)));
    BlockPool::Close(block);
  }
  // Looks after so many milliseconds more.
  std::vector<uint64_t> Find(HotFunctions* hot, uint64_t ms = 100) {
    now_ticks_ += ms * kTicksPerMs;
    return hot->Find(BlockPool(header_), now_ticks_, kTicksPerMs);
  }

  void* memory_;
  BlockPoolHeader* header_;
  uint64_t now_ticks_ = 1'000'000'000;
};

TEST_F(HotFunctionsTest, AreThoseWithMoreCallsThanTheLimitInASecond) {
  HotFunctions hot(10'000);
  for (int i = 0; i < 9; ++i) Fill();  // 1,010 calls each
  EXPECT_THAT(Find(&hot), IsEmpty());
  for (int i = 0; i < 2; ++i) Fill();
  EXPECT_THAT(Find(&hot), ElementsAre(kFrequent));
  Fill();
  EXPECT_THAT(Find(&hot), IsEmpty()) << "it was said already";
}

TEST_F(HotFunctionsTest, EachSecondCountsAnew) {
  HotFunctions hot(10'000);
  for (int second = 0; second < 5; ++second) {
    for (int i = 0; i < 9; ++i) Fill();
    EXPECT_THAT(Find(&hot, 1000), IsEmpty());
  }
}

TEST_F(HotFunctionsTest, BlocksThatAreBeingFilledCountOnceTheyAreFull) {
  HotFunctions hot(1'000);
  for (int i = 0; i < 20; ++i) Fill(kEventsPerBlock / 2);
  EXPECT_THAT(Find(&hot), IsEmpty());
}

TEST_F(HotFunctionsTest, BlocksThatWereOverwrittenCountByTheOthers) {
  HotFunctions hot(kBlocks * 1'000 * 4);
  for (uint64_t i = 0; i < kBlocks * 3; ++i) Fill();
  EXPECT_THAT(Find(&hot), IsEmpty());
  for (uint64_t i = 0; i < kBlocks * 3; ++i) Fill();
  EXPECT_THAT(Find(&hot), ElementsAre(kFrequent));
}

TEST_F(HotFunctionsTest, AreNoneWithoutALimit) {
  HotFunctions hot(0);
  for (uint64_t i = 0; i < kBlocks; ++i) Fill();
  EXPECT_THAT(Find(&hot), IsEmpty());
}

}  // namespace
}  // namespace lagwatch::trace
