// SPDX-License-Identifier: Apache-2.0
// The oracle is the table unwinder, on the same copies of a running thread's registers and stack.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "stack/code/unwinder.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/stack/caught_stack.h"
#include "tests/stack/unwind/frame_pointer_spots.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

class FramePointerUnwinderTest : public CaughtStackTest {
 protected:
  static bool IsSame(const Frame& a, const Frame& b) { return a.module == b.module && a.offset == b.offset; }

  // Whether the frame pointers' stack has the tables' first `count` frames, without the `skipped` ones after
  // the innermost.
  bool Has(uint32_t count, uint32_t skipped) const {
    if (by_frame_pointers_->frame_count < count - skipped) return false;
    for (uint32_t i = 0; i < count - skipped; ++i) {
      if (!IsSame(by_frame_pointers_->frames[i], stack_->frames[i == 0 ? 0 : i + skipped])) return false;
    }
    return true;
  }

  std::unique_ptr<Unwinder> unwinder_ = CreateFramePointerUnwinder();
  std::unique_ptr<Stack> by_frame_pointers_{new Stack};
};

// While a function has no frame record yet, or if it is a leaf that never has one, its caller is missing.
TEST_F(FramePointerUnwinderTest, AgreesWithTheTablesExceptOnTheInnermostCaller) {
  const testing::StalledThread thread(RunWithFramePointers);
  int compared = 0;
  int equal = 0;
  for (int i = 0; i < 200; ++i) {
    Capture(thread.tid());
    const int outermost = IndexOf(&RunWithFramePointers);
    if (outermost < 0) continue;  // it did not answer in time
    unwinder_->Unwind(*capturer_->answer_for_test(), capturer_->modules(), by_frame_pointers_.get());
    const auto count = static_cast<uint32_t>(outermost) + 1;
    const bool is_equal = Has(count, 0);
    ++compared;
    equal += is_equal ? 1 : 0;
    ASSERT_TRUE(is_equal || (count >= 2 && Has(count, 1))) << "at " << std::hex << AddressOf(0);
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(equal, compared / 4);
  RecordProperty("equal_percent", compared == 0 ? 0 : 100 * equal / compared);
}

// A stack made by hand, whose code is this test's own.
class MadeStackTest : public ::testing::Test {
 protected:
  MadeStackTest() {
    modules_.Refresh();
    raw_->registers = {};
    raw_->address = kStackBegin;
    raw_->size_bytes = kWords * sizeof(uint64_t);
    raw_->end = kStackBegin + raw_->size_bytes;
    raw_->registers.value[Registers::kProgramCounter] = ReturnAddress();
    raw_->registers.value[Registers::kStackPointer] = kStackBegin;
    raw_->registers.value[Registers::kFramePointer] = kStackBegin + 16;
    raw_->registers.known_mask = Registers::kAllKnown;
    std::memset(raw_->bytes, 0, raw_->size_bytes);
  }

  [[gnu::noinline]] static uint64_t ReturnAddress() {
    return reinterpret_cast<uint64_t>(__builtin_return_address(0));
  }
  void Put(uint64_t address, uint64_t word) {
    std::memcpy(raw_->bytes + (address - kStackBegin), &word, sizeof word);
  }
  void PutRecord(uint64_t address, uint64_t saved, uint64_t return_address) {
    Put(address, saved);
    Put(address + 8, return_address);
  }
  void Unwind() { unwinder_->Unwind(*raw_, modules_, stack_.get()); }

  static constexpr uint64_t kStackBegin = 0x10000;  // not mapped: read from the copy alone
  static constexpr uint64_t kWords = 64;

  ModuleMap modules_;
  std::unique_ptr<RawStack> raw_{new RawStack};
  std::unique_ptr<Unwinder> unwinder_ = CreateFramePointerUnwinder();
  std::unique_ptr<Stack> stack_{new Stack};
};

TEST_F(MadeStackTest, IsCompleteWhereTheChainEnds) {
  PutRecord(kStackBegin + 16, kStackBegin + 64, ReturnAddress());
  PutRecord(kStackBegin + 64, 0, ReturnAddress());
  Unwind();
  EXPECT_EQ(stack_->frame_count, 3u);
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
}

TEST_F(MadeStackTest, IsCompleteAtAReturnAddressOfZero) {
  PutRecord(kStackBegin + 16, kStackBegin + 64, ReturnAddress());
  PutRecord(kStackBegin + 64, kStackBegin + 96, 0);
  Unwind();
  EXPECT_EQ(stack_->frame_count, 2u);
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
}

TEST_F(MadeStackTest, EndsWhereARecordLeadsInward) {
  PutRecord(kStackBegin + 16, kStackBegin + 16, ReturnAddress());
  Unwind();
  EXPECT_EQ(stack_->frame_count, 2u);
  EXPECT_EQ(stack_->completeness, Completeness::kIncomplete);
}

TEST_F(MadeStackTest, EndsAtAWordThatIsNoReturnAddress) {
  PutRecord(kStackBegin + 16, kStackBegin + 64, ReturnAddress());
  PutRecord(kStackBegin + 64, kStackBegin + 96, reinterpret_cast<uint64_t>(raw_.get()));
  Unwind();
  EXPECT_EQ(stack_->frame_count, 2u);
  EXPECT_EQ(stack_->completeness, Completeness::kIncomplete);
}

TEST_F(MadeStackTest, IsCutWhereTheCopyEnds) {
  PutRecord(kStackBegin + 16, kStackBegin + 600, ReturnAddress());
  raw_->end = kStackBegin + 4096;
  Unwind();
  EXPECT_EQ(stack_->frame_count, 2u);
  EXPECT_EQ(stack_->completeness, Completeness::kCut);
}

TEST_F(MadeStackTest, HasOneFrameWithoutAFramePointer) {
  raw_->registers.known_mask &= ~(uint64_t{1} << Registers::kFramePointer);
  PutRecord(kStackBegin + 16, 0, ReturnAddress());
  Unwind();
  EXPECT_EQ(stack_->frame_count, 1u);
  EXPECT_EQ(stack_->completeness, Completeness::kIncomplete);
}

TEST_F(MadeStackTest, KeepsBothEndsOfADeepStack) {
  constexpr uint64_t kRecords = 1000;
  raw_->size_bytes = (kRecords + 2) * 16;
  raw_->end = kStackBegin + raw_->size_bytes;
  for (uint64_t i = 1; i <= kRecords; ++i) {
    const uint64_t record = kStackBegin + 16 * i;
    PutRecord(record, i == kRecords ? 0 : record + 16, ReturnAddress());
  }
  Unwind();
  EXPECT_EQ(stack_->frame_count, kMaxFrames);
  EXPECT_EQ(stack_->gap_frame_count, kRecords + 1 - kMaxFrames);
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
}

}  // namespace
}  // namespace lagwatch::stack
