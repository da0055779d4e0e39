// SPDX-License-Identifier: Apache-2.0
// Return addresses that the processor signed are found without their signatures.
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include <atomic>
#include <memory>

#include "base/process/safe_memory.h"
#include "tests/stack/caught_stack.h"
#include "tests/stack/unwind/signed_calls.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

constexpr uint32_t kDepth = 7;

class SignedReturnTest : public CaughtStackTest {
 protected:
  void SetUp() override {
    if ((getauxval(AT_HWCAP) & HWCAP_PACA) == 0) GTEST_SKIP() << "this processor signs no return addresses";
  }

  // A thread that spins below Descend's frames. A signature depends on the stack pointer and is zero for a
  // part of them, so the frames are moved until it is another.
  template <typename Descend>
  std::unique_ptr<StalledThread> Stall(Descend* descend) {
    constexpr size_t kMaxTries = 64;
    std::unique_ptr<StalledThread> thread;
    for (size_t i = 1; i <= kMaxTries && return_address_ >> 48 == 0; ++i) {
      thread = nullptr;
      return_address_ = 0;
      thread = std::make_unique<StalledThread>([=, this](const StopFlag& stop) {
        auto* room = static_cast<volatile char*>(__builtin_alloca(16 * i));
        room[0] = 1;
        descend(kDepth, stop, &return_address_);
        room[1] = room[0];
      });
      EXPECT_TRUE(testing::WaitUntil([&] { return return_address_.load() != 0; }));
    }
    EXPECT_NE(return_address_ >> 48, 0u) << "the test is about signed addresses";
    return thread;
  }
  // `begin`: the frame of Innermost.
  template <typename Innermost, typename Descend>
  void ExpectAllCallers(uint32_t begin, Innermost* innermost, Descend* descend) {
    EXPECT_EQ(stack_->completeness, Completeness::kComplete);
    EXPECT_TRUE(IsIn(begin, innermost));
    for (uint32_t i = 1; i <= kDepth; ++i) EXPECT_TRUE(IsIn(begin + i, descend)) << i;
    EXPECT_FALSE(IsIn(begin + kDepth + 1, descend));
  }

  std::atomic<uint64_t> return_address_{0};
};

TEST_F(SignedReturnTest, FindsAllCallersThatSignWithKeyA) {
  auto thread = Stall(&with_key_a::Descend);
  Capture(thread->tid());
  EXPECT_TRUE(IsIn(0, &with_key_a::SpinSigned));
  ExpectAllCallers(1, &with_key_a::Innermost, &with_key_a::Descend);
  EXPECT_GE(IndexOf(&testing::StallOuter), 0);
}

TEST_F(SignedReturnTest, FindsAllCallersThatSignWithKeyB) {
  auto thread = Stall(&with_key_b::Descend);
  Capture(thread->tid());
  EXPECT_TRUE(IsIn(0, &with_key_b::SpinSigned));
  ExpectAllCallers(1, &with_key_b::Innermost, &with_key_b::Descend);
  EXPECT_GE(IndexOf(&testing::StallOuter), 0);
}

// As if Innermost, whose stack pointer is its callee's too, were blocked: its frame pointer must be searched
// for, and is proven by a signed return address.
TEST_F(SignedReturnTest, ProvesAFramePointerThatIsNotKnown) {
  auto thread = Stall(&with_key_a::Descend);
  Capture(thread->tid());
  ASSERT_TRUE(IsIn(1, &with_key_a::Innermost));
  RawStack& raw = *capturer_->answer_for_test();
  raw.registers.value[Registers::kProgramCounter] = AddressOf(1) + 1;
  raw.registers.known_mask = uint64_t{1} << Registers::kStackPointer | uint64_t{1}
                                                                           << Registers::kProgramCounter;
  CreateTableUnwinder().value()->Unwind(raw, capturer_->modules(), stack_.get());
  ExpectAllCallers(0, &with_key_a::Innermost, &with_key_a::Descend);
}

// The coroutine's first function has no caller; it signs even that.
class SignedCoroutineTest : public SignedReturnTest {
 protected:
  static constexpr size_t kStackBytes = 64 * 1024;

  static void Enter(const StopFlag& stop) {
    stop_ = &stop;
    getcontext(&inside_);
    inside_.uc_stack = {.ss_sp = memory_, .ss_flags = 0, .ss_size = kStackBytes};
    makecontext(&inside_, reinterpret_cast<void (*)()>(&with_key_a::Call), 1, &Run);
    inside_.uc_mcontext.regs[Registers::kReturnAddress] = 0;
    swapcontext(&outside_, &inside_);
  }
  static void Run() {
    with_key_a::Innermost(*stop_, &saved_);
    setcontext(&outside_);
  }

  alignas(4096) static inline char memory_[kStackBytes];
  static inline const StopFlag* stop_ = nullptr;
  static inline std::atomic<uint64_t> saved_{0};
  static inline ucontext_t inside_{};
  static inline ucontext_t outside_{};
};

TEST_F(SignedCoroutineTest, EndsWhereASignedZeroIsTheCaller) {
  StalledThread thread(Enter);
  ASSERT_TRUE(testing::WaitUntil([] { return saved_.load() != 0; }));
  Capture(thread.tid());
  // A copy of the test's own: the handler's depends on a system call that not every machine allows.
  auto raw = std::make_unique<RawStack>();
  raw->registers = capturer_->answer_for_test()->registers;
  raw->address = raw->registers.stack_pointer();
  raw->end = reinterpret_cast<uint64_t>(memory_) + kStackBytes;
  ASSERT_LE(raw->end - raw->address, kStackBytes);
  raw->size_bytes = base::ReadOwnMemory(raw->address, raw->bytes, raw->end - raw->address);
  CreateTableUnwinder().value()->Unwind(*raw, capturer_->modules(), stack_.get());
  EXPECT_TRUE(IsIn(stack_->frame_count - 1, &with_key_a::Call));
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
}

}  // namespace
}  // namespace lagwatch::stack
