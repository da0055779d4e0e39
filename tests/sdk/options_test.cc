// SPDX-License-Identifier: Apache-2.0
// The options of C and of C++ have the same members and defaults.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <string>

namespace lagwatch {
namespace {

TEST(Options, HaveTheSameDefaultsInCAndInCpp) {
  lw_options c;
  lw_options_init(&c);
  const Options options;
  const lw_options cpp = ToRaw(options);
  EXPECT_EQ(c.struct_size_bytes, cpp.struct_size_bytes);
#define OPTION_TEXT(name, ...) \
  EXPECT_EQ(c.name, nullptr);  \
  EXPECT_STREQ(cpp.name, "");
#define OPTION_NUMBER(name, ...) EXPECT_EQ(c.name, cpp.name) << #name;
#define OPTION_SWITCH(name, ...) EXPECT_EQ(c.name, cpp.name) << #name;
#define OPTION_SIGNAL(name, ...) EXPECT_EQ(c.name, cpp.name) << #name;
#define OPTION_CHOICE(name, ...) EXPECT_EQ(c.name, cpp.name) << #name;
#include "policies/options/options.def"
}

TEST(Options, AreAllPassedFromCppToC) {
  Options options;
#define OPTION_TEXT(name, path, ...) options.path = #name;
#define OPTION_NUMBER(name, path, flag, standard, ...) options.path = (standard) + 1;
#define OPTION_SWITCH(name, path, ...) options.path = true;
#define OPTION_SIGNAL(name, path, ...) options.path = 1;
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) options.path = last;
#include "policies/options/options.def"
  const lw_options c = ToRaw(options);
#define OPTION_TEXT(name, ...) EXPECT_STREQ(c.name, #name);
#define OPTION_NUMBER(name, path, flag, standard, ...) EXPECT_EQ(c.name, (standard) + 1u) << #name;
#define OPTION_SWITCH(name, ...) EXPECT_EQ(c.name, 1u) << #name;
#define OPTION_SIGNAL(name, ...) EXPECT_EQ(c.name, 1) << #name;
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) \
  EXPECT_EQ(c.name, static_cast<uint32_t>(last)) << #name;
#include "policies/options/options.def"
}

}  // namespace
}  // namespace lagwatch
