// SPDX-License-Identifier: Apache-2.0
// Callers of assembly without tables, found by the calls of it.
#include "stack/unwind/call_scan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/stack/caught_stack.h"
#include "tests/testing/process.h"

#ifdef __x86_64__

// The second one is called by way of a jump. Both have frames larger than what they save.
__asm__(
    ".pushsection .text\n"
    ".p2align 4\n"
    "TablelessOuter:\n"
    "  push %rbx\n"
    "  sub $0x110, %rsp\n"
    "  call TablelessJump\n"
    "  add $0x110, %rsp\n"
    "  pop %rbx\n"
    "  ret\n"
    ".p2align 4\n"
    "TablelessJump:\n"
    "  .byte 0xe9\n"
    "  .long TablelessRead - . - 4\n"
    ".p2align 4\n"
    "TablelessRead:\n"
    "  sub $0x48, %rsp\n"
    "  mov %rsp, %rsi\n"
    "  mov $1, %edx\n"
    "  xor %eax, %eax\n"
    "  syscall\n"
    "  add $0x48, %rsp\n"
    "  ret\n"
    ".p2align 4\n"
    ".popsection\n");
extern "C" int TablelessOuter(int fd);
extern "C" char TablelessRead[];

namespace lagwatch::stack {
namespace {

[[gnu::noinline]] int ReadByAssembly(int fd) { return TablelessOuter(fd) + 1; }

using CallScanTest = CaughtStackTest;

TEST_F(CallScanTest, FindsTheCallersOfAssemblyThatSleeps) {
  LAGWATCH_SKIP_UNDER_EMULATION("where other threads sleep cannot be read");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<int32_t> tid{0};
  std::thread reader([&] {
    tid = gettid();
    EXPECT_EQ(ReadByAssembly(ends[0]), 2);
  });
  EXPECT_TRUE(testing::WaitUntil([&] {
    if (tid == 0) return false;
    capturer_->RefreshModules();
    return capturer_->CaptureAsleep(tid, stack_.get()) && IndexOf(&ReadByAssembly) == 2;
  }));
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  reader.join();
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(stack_->completeness, Completeness::kProbable);
  EXPECT_GE(AddressOf(0), reinterpret_cast<uint64_t>(&TablelessRead));
  EXPECT_LT(AddressOf(0), reinterpret_cast<uint64_t>(&TablelessRead) + 32);
  EXPECT_GE(AddressOf(1), reinterpret_cast<uint64_t>(&TablelessOuter));
  EXPECT_LT(AddressOf(1), reinterpret_cast<uint64_t>(&TablelessOuter) + 32);
}

TEST(FunctionEnd, IsAReturnWithPaddingAlone) {
  const unsigned char padded[] = {0x5d, 0x41, 0x5f, 0xc3, 0x66, 0x2e, 0x0f, 0x1f,
                                  0x84, 0,    0,    0,    0,    0,    0x66, 0x90};
  EXPECT_TRUE(IsFunctionEnd(padded));
  const unsigned char bare[] = {0x48, 0x83, 0xc4, 8, 0x48, 0x83, 0xc4, 8,
                                0x48, 0x83, 0xc4, 8, 0x48, 0x89, 0xd8, 0xc3};
  EXPECT_TRUE(IsFunctionEnd(bare));
  const unsigned char within[] = {0x5d, 0xc3, 0x48, 0x83, 0xc4, 8, 0x48, 0x83,
                                  0xc4, 8,    0x48, 0x83, 0xc4, 8, 0x66, 0x90};
  EXPECT_FALSE(IsFunctionEnd(within));
}

TEST(Branch, LeadsToItsTargetAlone) {
  const unsigned char near[] = {0x74, 0x0e, 0x48, 0x89, 0xd8, 0xc3};
  EXPECT_TRUE(IsBranchTo(near, 0x1000, 0x1010));
  EXPECT_FALSE(IsBranchTo(near, 0x1000, 0x1011));
  const unsigned char far[] = {0x0f, 0x85, 0x7a, 0x02, 0, 0};
  EXPECT_TRUE(IsBranchTo(far, 0x1000, 0x1280));
  const unsigned char none[] = {0x48, 0x89, 0xd8, 0xc3, 0x66, 0x90};
  EXPECT_FALSE(IsBranchTo(none, 0x1000, 0x1002));
}

}  // namespace
}  // namespace lagwatch::stack

#endif
