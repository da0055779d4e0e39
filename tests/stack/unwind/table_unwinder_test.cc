// SPDX-License-Identifier: Apache-2.0
// Damaged stacks; tests/unwind has the sound ones.
#include "stack/unwind/table_unwinder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <memory>

#include "stack/unwind/processor.h"
#include "stack/unwind/stack_memory.h"

// The C library's own: a sanitizer's would call the handler from a handler of its own.
extern "C" int __sigaction(int signal_number, const struct sigaction* action,
                           struct sigaction* previous) noexcept;

namespace lagwatch::stack {
namespace {

class TableUnwinderTest : public ::testing::Test {
 protected:
  TableUnwinderTest() {
    modules_.Refresh();
    raw_->registers = {};
    raw_->registers.known_mask = Registers::kAllKnown;
    raw_->address = kStack;
    raw_->size_bytes = kStackBytes;
    raw_->end = kStack + kStackBytes;
    std::memset(raw_->bytes, 0, kStackBytes);
  }
  const Stack& Unwind() {
    CreateTableUnwinder(&tables_)->Unwind(*raw_, modules_, stack_.get());
    return *stack_;
  }

  static constexpr uint64_t kStack = 0x10'0000'0000;
  static constexpr size_t kStackBytes = 8192;

  ModuleMap modules_;
  TableLibrary tables_;
  std::unique_ptr<RawStack> raw_{new RawStack};
  std::unique_ptr<Stack> stack_{new Stack};
};

TEST_F(TableUnwinderTest, TheLastAddressThereIsBelongsToNoModule) {
  raw_->registers.value[Registers::kStackPointer] = kStack;
  raw_->registers.value[Registers::kProgramCounter] = UINT64_MAX;
  const Stack& stack = Unwind();
  ASSERT_GE(stack.frame_count, 1u);
  EXPECT_EQ(stack.frames[0].module, kNoModule);
  EXPECT_EQ(stack.frames[0].offset, UINT64_MAX);
}

uint64_t g_signal_return = 0;

void OnSignal(int) { g_signal_return = reinterpret_cast<uint64_t>(__builtin_return_address(0)); }

TEST_F(TableUnwinderTest, ASignalFrameThatInterruptedItselfEndsTheWalk) {
  struct sigaction action {};
  action.sa_handler = &OnSignal;
  struct sigaction previous;
  __sigaction(SIGUSR2, &action, &previous);
  raise(SIGUSR2);
  __sigaction(SIGUSR2, &previous, nullptr);
  if (modules_.FindCode(g_signal_return) == kNoModule) GTEST_SKIP() << "the emulator's own code returns";
  auto& registers = raw_->registers;
  registers.value[Registers::kStackPointer] = kStack + kRedZoneBytes;
  registers.value[Registers::kProgramCounter] = g_signal_return;
  for (int i = 0; i < Registers::kCount; ++i) {
    std::memcpy(raw_->bytes + kRedZoneBytes + SignalFrameOffset(i), &registers.value[i], sizeof(uint64_t));
  }
  const Stack& stack = Unwind();
  EXPECT_EQ(stack.completeness, Completeness::kIncomplete);
  EXPECT_GT(stack.frame_count, 2u);
  EXPECT_EQ(stack.gap_frame_count, 0u);
}

TEST_F(TableUnwinderTest, ReadsOfMemoryBesideTheCopyAreLimited) {
  StackMemory memory(base::Process::Own(), *raw_);
  const uint64_t elsewhere = 42;
  uint64_t word = 0;
  ASSERT_TRUE(memory.ReadWord(reinterpret_cast<uint64_t>(&elsewhere), &word));
  EXPECT_EQ(word, elsewhere);
  int count = 1;
  while (count < 1'000'000 && memory.ReadWord(reinterpret_cast<uint64_t>(&elsewhere), &word)) ++count;
  EXPECT_GT(count, 10'000);
  EXPECT_LT(count, 1'000'000);
  EXPECT_TRUE(memory.ReadWord(kStack, &word));
}

}  // namespace
}  // namespace lagwatch::stack
