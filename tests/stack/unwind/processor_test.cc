// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/processor.h"

#include <gtest/gtest.h>

namespace lagwatch::stack {
namespace {

#if defined(__x86_64__)
TEST(Processor, KnowsIndirectCallsByTheirLength) {
  constexpr auto kIndirect = CallSite::Kind::kIndirect;
  constexpr uint64_t kReturn = 0x1000;
  unsigned char by_register[kMaxCallBytes] = {0, 0, 0, 0, 0, 0, 0xff, 0xd0};
  EXPECT_EQ(CallBefore(by_register, kReturn).kind, kIndirect);
  unsigned char by_table[kMaxCallBytes] = {0, 0, 0, 0, 0, 0xff, 0x14, 0xc7};
  EXPECT_EQ(CallBefore(by_table, kReturn).kind, kIndirect);
  unsigned char by_far_table[kMaxCallBytes] = {0, 0xff, 0x14, 0xc5, 0, 0, 0, 0};
  EXPECT_EQ(CallBefore(by_far_table, kReturn).kind, kIndirect);
  // Its last byte would come after the return address: nothing is read there.
  unsigned char cut[kMaxCallBytes] = {0, 0, 0, 0, 0, 0, 0xff, 0x14};
  EXPECT_EQ(CallBefore(cut, kReturn).kind, CallSite::Kind::kNone);
}
#endif

}  // namespace
}  // namespace lagwatch::stack
