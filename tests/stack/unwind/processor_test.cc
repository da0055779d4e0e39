// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace lagwatch::stack {
namespace {

#if defined(__x86_64__)
TEST(Processor, KnowsIndirectCallsByTheirLength) {
  constexpr auto kIndirect = CallSite::CallForm::kIndirect;
  constexpr uint64_t kReturn = 0x1000;
  unsigned char by_register[kMaxCallBytes] = {0, 0, 0, 0, 0, 0, 0xff, 0xd0};
  EXPECT_EQ(CallBefore(by_register, kReturn).kind, kIndirect);
  unsigned char by_table[kMaxCallBytes] = {0, 0, 0, 0, 0, 0xff, 0x14, 0xc7};
  EXPECT_EQ(CallBefore(by_table, kReturn).kind, kIndirect);
  unsigned char by_far_table[kMaxCallBytes] = {0, 0xff, 0x14, 0xc5, 0, 0, 0, 0};
  EXPECT_EQ(CallBefore(by_far_table, kReturn).kind, kIndirect);
  // Its last byte would come after the return address: nothing is read there.
  unsigned char cut[kMaxCallBytes] = {0, 0, 0, 0, 0, 0, 0xff, 0x14};
  EXPECT_EQ(CallBefore(cut, kReturn).kind, CallSite::CallForm::kNone);
}

// The distance that the prologue at `bytes` makes; none if it is not understood.
std::optional<uint64_t> DistanceIn(std::initializer_list<unsigned char> bytes) {
  unsigned char code[kMaxPrologueBytes] = {};
  std::ranges::copy(bytes, code);
  uint64_t distance = 0;
  return DecodePrologue(code, &distance) ? std::optional(distance) : std::nullopt;
}

TEST(Processor, FindsTheFrameBetweenInstructionsThatWereMoved) {
  // push %rbp; pxor; mov %rsp,%rbp; push %r14; mov; push %r13; mov; push %r12; mov; push %rbx; sub $0x40,%rsp
  EXPECT_EQ(DistanceIn({0x55, 0x66, 0x0f, 0xef, 0xc0, 0x48, 0x89, 0xe5, 0x41, 0x56, 0x49, 0x89, 0xf6, 0x41,
                        0x55, 0x41, 0x89, 0xd5, 0x41, 0x54, 0x49, 0x89, 0xfc, 0x53, 0x48, 0x83, 0xec, 0x40}),
            4 * 8 + 0x40u);
  // push %rbp; mov %rsp,%rbp; push %rbx; mov %fs:0x28,%rax; sub $0x128,%rsp
  EXPECT_EQ(DistanceIn({0x55, 0x48, 0x89, 0xe5, 0x53, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28,
                        0,    0,    0,    0x48, 0x81, 0xec, 0x28, 0x01, 0,    0}),
            8 + 0x128u);
  // push %rbp; mov $7,%eax; mov %rsp,%rbp; lea 0x10(%rip),%rbx; add $-0x80,%rsp
  EXPECT_EQ(DistanceIn({0x55, 0xb8, 7,    0, 0, 0, 0x48, 0x89, 0xe5, 0x48,
                        0x8d, 0x1d, 0x10, 0, 0, 0, 0x48, 0x83, 0xc4, 0x80}),
            0x80u);
}

TEST(Processor, KnowsNoFrameBehindACallOrWithoutAFramePointer) {
  // push %rbp; mov %rsp,%rbp; call; sub $0x40,%rsp: what comes after the call is no prologue
  EXPECT_EQ(DistanceIn({0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xec, 0x40}), 0u);
  // push %rbp; mov %rdi,%rbp; sub $0x40,%rsp
  EXPECT_EQ(DistanceIn({0x55, 0x48, 0x89, 0xfd, 0x48, 0x83, 0xec, 0x40}), std::nullopt);
  // push %rbp; mov %rsp,%rbp; and $-0x20,%rsp; sub $0x40,%rsp
  EXPECT_EQ(DistanceIn({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x40}),
            std::nullopt);
  // push %rbx; sub $0x40,%rsp
  EXPECT_EQ(DistanceIn({0x53, 0x48, 0x83, 0xec, 0x40}), std::nullopt);
}
#endif

}  // namespace
}  // namespace lagwatch::stack
