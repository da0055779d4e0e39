// SPDX-License-Identifier: Apache-2.0
// Return addresses that the processor signed are found without their signatures.
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <atomic>

#include "tests/stack/caught_stack.h"
#include "tests/stack/unwind/signed_calls.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

class SignedReturnTest : public CaughtStackTest {
 protected:
  void SetUp() override {
    if ((getauxval(AT_HWCAP) & HWCAP_PACA) == 0) GTEST_SKIP() << "this processor signs no return addresses";
  }

  template <typename Spin, typename Innermost, typename Descend>
  void ExpectAllFrames(Spin* spin, Innermost* innermost, Descend* descend) {
    constexpr uint32_t kDepth = 7;
    std::atomic<uint64_t> return_address{0};
    StalledThread thread([&](const StopFlag& stop) {
      descend(kDepth, stop, &return_address);
      asm volatile("");
    });
    ASSERT_TRUE(testing::WaitUntil([&] { return return_address.load() != 0; }));
    ASSERT_NE(return_address >> 48, 0u) << "the test is about signed addresses";
    Capture(thread.tid());
    EXPECT_EQ(stack_->completeness, Completeness::kComplete);
    EXPECT_TRUE(IsIn(0, spin));
    EXPECT_TRUE(IsIn(1, innermost));
    for (uint32_t i = 0; i < kDepth; ++i) EXPECT_TRUE(IsIn(2 + i, descend)) << i;
    EXPECT_FALSE(IsIn(2 + kDepth, descend));
    EXPECT_GE(IndexOf(&testing::StallOuter), static_cast<int>(2 + kDepth));
  }
};

TEST_F(SignedReturnTest, FindsAllCallersThatSignWithKeyA) {
  ExpectAllFrames(&with_key_a::SpinSigned, &with_key_a::Innermost, &with_key_a::Descend);
}

TEST_F(SignedReturnTest, FindsAllCallersThatSignWithKeyB) {
  ExpectAllFrames(&with_key_b::SpinSigned, &with_key_b::Innermost, &with_key_b::Descend);
}

}  // namespace
}  // namespace lagwatch::stack
