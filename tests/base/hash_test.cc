// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

#include <string_view>

namespace lagwatch::base {
namespace {

using namespace std::string_view_literals;

TEST(HashBytes, AgreesWithFnvsPublishedVectors) {
  EXPECT_EQ(HashBytes(""), 0xcbf29ce484222325u);
  EXPECT_EQ(HashBytes("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(HashBytes("foobar"), 0x85944171f73967e8u);
}

TEST(HashBytes, ContinuesFromASeed) { EXPECT_EQ(HashBytes("bar", HashBytes("foo")), HashBytes("foobar")); }

TEST(HashBytes, TakesBytesAboveSevenBitsAsUnsigned) {
  EXPECT_EQ(HashBytes("\xff"), (kFnvOffsetBasis ^ 0xff) * 0x100000001b3);
}

TEST(HashWord, IsTheHashOfItsLittleEndianBytes) {
  EXPECT_EQ(HashWord(0x8877665544332211, kFnvOffsetBasis), HashBytes("\x11\x22\x33\x44\x55\x66\x77\x88"));
  EXPECT_EQ(HashWord(0, kFnvOffsetBasis), HashBytes("\0\0\0\0\0\0\0\0"sv));
}

}  // namespace
}  // namespace lagwatch::base
