// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/thrown_type.h"

#include <gtest/gtest.h>

#include <string>
#include <typeinfo>

namespace lagwatch::sdk {
namespace {

struct Local {};

std::string Readable(const char* mangled, size_t size = 240) {
  std::string name(size, '?');
  ReadableTypeName(mangled, name.data(), size);
  return name.c_str();
}

TEST(ThrownType, IsReadable) {
  EXPECT_EQ(Readable("St13runtime_error"), "std::runtime_error");
  EXPECT_EQ(Readable("NSt8ios_base7failureB5cxx11E"), "std::ios_base::failure");
  EXPECT_EQ(Readable("N3foo3barE"), "foo::bar");
  EXPECT_EQ(Readable("i"), "int");
  EXPECT_EQ(Readable("PKc"), "const char*");
  EXPECT_EQ(Readable("*5Error"), "Error");
  EXPECT_EQ(Readable(typeid(Local).name()).find("lagwatch::sdk::"), 0U);
}

TEST(ThrownType, StaysAsItIsIfNotUnderstood) {
  EXPECT_EQ(Readable("St6vectorIiSaIiEE"), "St6vectorIiSaIiEE");
  EXPECT_EQ(Readable("N3foo"), "N3foo");
  EXPECT_EQ(Readable("999999999999999999999x"), "999999999999999999999x");
  EXPECT_EQ(Readable(""), "");
}

TEST(ThrownType, FitsTheRoom) {
  EXPECT_EQ(Readable("St13runtime_error", 8), "std::ru");
  EXPECT_EQ(Readable("St13runtime_error", 1), "");
}

}  // namespace
}  // namespace lagwatch::sdk
