// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/call_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "trace/instrument/call_event.h"

namespace lagwatch::trace {
namespace {

constexpr uint64_t kEnterMain = CallEventWord::kIsEnter | uint64_t{0x10} << CallEventWord::kAddressShift;

class CallDecoder : public ::testing::Test {
 protected:
  CallDecoder() : block_(std::make_unique<Block>()) {
    block_->base = 1000;
    block_->code_base = 0x400000;
  }
  void Add(uint64_t word) {
    const uint32_t used_bytes = block_->used_bytes.fetch_add(sizeof word);
    std::memcpy(block_->bytes + used_bytes, &word, sizeof word);
  }
  std::vector<CallRecord> Decode() const {
    std::vector<CallRecord> records;
    DecodeCalls(*block_, &records);
    return records;
  }

  std::unique_ptr<Block> block_;
};

TEST_F(CallDecoder, AddsTheBases) {
  Add(kEnterMain | 5);
  const CallRecord main{.ticks = 1005, .address = 0x400010, .is_enter = true, .is_name = false};
  EXPECT_EQ(Decode(), std::vector{main});
}

TEST_F(CallDecoder, AFarBaseHoldsUntilTheNext) {
  Add(CallEventWord::kFarBaseNote | 0x7f12'3456);
  Add(CallEventWord::kIsFar | uint64_t{1} << CallEventWord::kAddressShift);
  Add(kEnterMain);
  Add(CallEventWord::kIsFar | uint64_t{2} << CallEventWord::kAddressShift);
  Add(CallEventWord::kFarBaseNote | 0x5555'0000);
  Add(CallEventWord::kIsFar | CallEventWord::kIsName | uint64_t{3} << CallEventWord::kAddressShift);
  const auto records = Decode();
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].address, 0x7f12'3456'0001U);
  EXPECT_EQ(records[1].address, 0x40'0010U);
  EXPECT_EQ(records[2].address, 0x7f12'3456'0002U);
  EXPECT_EQ(records[3].address, 0x5555'0000'0003U);
  EXPECT_TRUE(records[3].is_name);
}

TEST_F(CallDecoder, WrapsAreOfTheBlocksBase) {
  Add(CallEventWord::kWrapsNote | 3);
  Add(kEnterMain | 7);
  Add(CallEventWord::kWrapsNote | 4);
  Add(kEnterMain | 1);
  const auto records = Decode();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].ticks, 1007 + (uint64_t{3} << 32));
  EXPECT_EQ(records[1].ticks, 1001 + (uint64_t{4} << 32));
}

TEST_F(CallDecoder, TheCoarseClockGetsItsUpperBitsBack) {
  block_->base = uint64_t{0x1'ffff'fffe} << CallEventWord::kCoarseShift;
  Add(CallEventWord::kCoarseNote);
  Add(kEnterMain | 0xffff'fffd);  // a bit before the block was begun
  Add(kEnterMain | 0xffff'ffff);
  Add(kEnterMain | 0x0000'0002);
  Add(kEnterMain | 0x7000'0000);
  Add(kEnterMain | 0xe000'0000);
  Add(kEnterMain | 0x1000'0000);
  std::vector<uint64_t> clocks;
  for (const CallRecord& record : Decode()) clocks.push_back(record.ticks >> CallEventWord::kCoarseShift);
  EXPECT_EQ(clocks, (std::vector<uint64_t>{0x1'ffff'fffd, 0x1'ffff'ffff, 0x2'0000'0002, 0x2'7000'0000,
                                           0x2'e000'0000, 0x3'1000'0000}));
}

TEST_F(CallDecoder, TellsWhatAHandlerWroteFirstInTheOrderOfTime) {
  Add(kEnterMain | 20);
  Add(kEnterMain | 30);
  Add(kEnterMain | 10);
  const auto records = Decode();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].ticks, 1010U);
  EXPECT_EQ(records[2].ticks, 1030U);
}

TEST_F(CallDecoder, AnySixteenKibibytesAreSafe) {
  uint64_t state = 1;
  for (size_t i = 0; i < Block::kRoomBytes / sizeof state; ++i)
    Add(state = state * 6364136223846793005 + 1442695);
  block_->used_bytes = UINT32_MAX;
  EXPECT_LE(Decode().size(), Block::kRoomBytes / sizeof state);
}

}  // namespace
}  // namespace lagwatch::trace
