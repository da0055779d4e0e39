// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/function_filter.h"

#include <gtest/gtest.h>

namespace lagwatch::trace {
namespace {

bool WantsName(const FunctionFilter& filter, const char* symbol) {
  return filter.WantsName({.module = "/lib/libeditor.so", .build_id = "", .symbol = symbol});
}

TEST(MatchesGlob, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("lib*.so*", "libeditor.so.1.2"));
  EXPECT_TRUE(MatchesGlob("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(MatchesGlob("?ave", "Save"));
  EXPECT_FALSE(MatchesGlob("?ave", "ave"));
  EXPECT_FALSE(MatchesGlob("a*b", "a-b-c"));
  EXPECT_FALSE(MatchesGlob("", "a"));
}

TEST(FunctionFilter, AnEmptyOneWantsEverything) {
  const FunctionFilter filter;
  EXPECT_TRUE(filter.WantsModule("/usr/bin/editor") && filter.WantsAddress(1) && WantsName(filter, ""));
}

TEST(FunctionFilter, DenyingIsStrongerThanAllowing) {
  const FunctionFilter filter{.allow_modules = {"lib*"},
                              .deny_modules = {"libc.so*"},
                              .allow_functions = {"Editor::*"},
                              .deny_functions = {"*Tick*"},
                              .allow_addresses = {{0x1000, 0x2000}},
                              .deny_addresses = {{0x1800, 0x1900}}};
  EXPECT_TRUE(filter.WantsModule("/lib/libeditor.so"));
  EXPECT_FALSE(filter.WantsModule("/lib/libc.so.6") || filter.WantsModule("/liberty/editor"));
  EXPECT_TRUE(WantsName(filter, "_ZN6Editor4SaveEv"));
  EXPECT_FALSE(WantsName(filter, "_ZN6Editor6OnTickEv") || WantsName(filter, "main") ||
               WantsName(filter, ""));
  EXPECT_TRUE(filter.WantsAddress(0x1000) && filter.WantsAddress(0x1fff));
  EXPECT_FALSE(filter.WantsAddress(0x2000) || filter.WantsAddress(0x1850));
}

}  // namespace
}  // namespace lagwatch::trace
