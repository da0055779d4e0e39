// SPDX-License-Identifier: Apache-2.0
#include "base/system/system_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <set>
#include <string>
#include <string_view>

namespace lagwatch::base {
namespace {

std::string_view NameOf(int64_t number) {
  const char* name = SystemCallOf(number).name;
  return name == nullptr ? "" : name;
}

TEST(SystemCalls, HaveTheNumbersOfThisMachinesHeaders) {
#define SYSTEM_CALL(name, x86_64, aarch64, ...) EXPECT_EQ(NameOf(SYS_##name), #name);
#define SET_CALL(name, x86_64, aarch64, ...) EXPECT_EQ(NameOf(SYS_##name), #name);
#ifdef __x86_64__
#define SYSTEM_CALL_X86_64(name, x86_64, ...) EXPECT_EQ(NameOf(SYS_##name), #name);
#define SET_CALL_X86_64(name, x86_64, ...) EXPECT_EQ(NameOf(SYS_##name), #name);
#endif
#include "base/system/system_calls.def"
}

TEST(SystemCalls, HaveANumberOfTheirOwn) {
  std::set<int> numbers[2];
  std::set<std::string> names;
  for (const SystemCall& call : system_call_rows::kAll) {
    if (call.name == nullptr) continue;
    EXPECT_TRUE(names.insert(call.name).second) << call.name;
    for (const Processor processor : {Processor::kX86_64, Processor::kAarch64}) {
      const int number = call.NumberOn(processor);
      if (number == kNoNumber) continue;
      EXPECT_TRUE(numbers[static_cast<size_t>(processor)].insert(number).second) << call.name;
    }
  }
}

TEST(SystemCalls, ThatHaveNoRowAreUnknown) {
  for (const int64_t number :
       {int64_t{-1}, int64_t{SYS_umask}, int64_t{511}, int64_t{512}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(SystemCallOf(number).name, nullptr) << number;
}

TEST(TimeLimit, IsSetAsItsCallHasIt) {
  const uint64_t for_ever[6] = {0, 0, 0, 0xffff'ffff, 0, 0};
  const uint64_t a_while[6] = {0, 0, 0, 100, 0, 0};
  const uint64_t none[6] = {};
  const TimeLimit milliseconds = SystemCallOf(SYS_epoll_pwait).limit;
  const TimeLimit time = SystemCallOf(SYS_epoll_pwait2).limit;
  EXPECT_FALSE(milliseconds.IsSet(for_ever));
  EXPECT_TRUE(milliseconds.IsSet(a_while));
  EXPECT_TRUE(milliseconds.IsSet(none));
  EXPECT_FALSE(time.IsSet(none));
  EXPECT_TRUE(time.IsSet(a_while));
  EXPECT_TRUE(SystemCallOf(SYS_nanosleep).limit.IsSet(none));
  EXPECT_FALSE(SystemCallOf(SYS_read).limit.IsSet(a_while));
}

}  // namespace
}  // namespace lagwatch::base
