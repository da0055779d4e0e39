// SPDX-License-Identifier: Apache-2.0
// The options of C and of C++ have the same members and defaults.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <cstddef>
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

TEST(Options, AreAllSetByName) {
  lw_options c;
  lw_options_init(&c);
#define OPTION_TEXT(name, ...) EXPECT_EQ(lw_options_set(&c, #name, "text"), 1) << #name;
#define OPTION_NUMBER(name, ...) EXPECT_EQ(lw_options_set(&c, #name, "77"), 1) << #name;
#define OPTION_SWITCH(name, ...) EXPECT_EQ(lw_options_set(&c, #name, "on"), 1) << #name;
#define OPTION_SIGNAL(name, ...) EXPECT_EQ(lw_options_set(&c, #name, "12"), 1) << #name;
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) \
  EXPECT_EQ(lw_options_set(&c, #name, std::to_string(last).c_str()), 1) << #name;
#include "policies/options/options.def"
#define OPTION_TEXT(name, ...) EXPECT_STREQ(c.name, "text") << #name;
#define OPTION_NUMBER(name, ...) EXPECT_EQ(c.name, 77u) << #name;
#define OPTION_SWITCH(name, ...) EXPECT_EQ(c.name, 1u) << #name;
#define OPTION_SIGNAL(name, ...) EXPECT_EQ(c.name, 12) << #name;
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) \
  EXPECT_EQ(c.name, static_cast<uint32_t>(last)) << #name;
#include "policies/options/options.def"
}

TEST(Options, KeepTheirValuesWhenAnotherCannotBeRead) {
  lw_options c;
  lw_options_init(&c);
  for (const char* value : {"", " 5", "5 ", "5s", "-5", "0x5", "4294967296", "on"})
    EXPECT_EQ(lw_options_set(&c, "threshold_ms", value), 0) << value;
  EXPECT_EQ(lw_options_set(&c, "threshold_ms", nullptr), 0);
  EXPECT_EQ(lw_options_set(&c, "trace", "2"), 0);
  EXPECT_EQ(lw_options_set(&c, "dump_signal", "-1"), 0);
  EXPECT_EQ(lw_options_set(&c, "start", std::to_string(LW_START_WARM + 1).c_str()), 0);
  for (const char* name : {"", "Threshold_ms", "threshold", "struct_size_bytes", "listener", "transport"})
    EXPECT_EQ(lw_options_set(&c, name, "5"), 0) << name;
  EXPECT_EQ(lw_options_set(&c, nullptr, "5"), 0);
  lw_options defaults;
  lw_options_init(&defaults);
  EXPECT_EQ(c.threshold_ms, defaults.threshold_ms);
  EXPECT_EQ(c.trace, 0u);
  EXPECT_EQ(c.dump_signal, 0);
  EXPECT_EQ(c.start, defaults.start);
}

TEST(Options, AreSetOnlyWithinTheCallersStruct) {
  lw_options c;
  lw_options_init(&c);
  c.struct_size_bytes = offsetof(lw_options, anr_threshold_ms);
  EXPECT_EQ(lw_options_set(&c, "threshold_ms", "77"), 1);
  EXPECT_EQ(lw_options_set(&c, "anr_threshold_ms", "77"), 0);
  EXPECT_EQ(c.anr_threshold_ms, 5000u);
}

}  // namespace
}  // namespace lagwatch
