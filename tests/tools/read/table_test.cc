// SPDX-License-Identifier: Apache-2.0
#include "tools/read/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagwatch::tools {
namespace {

constexpr auto kRight = Table::Align::kRight;
constexpr auto kLeft = Table::Align::kLeft;

TEST(Table, AlignsItsColumns) {
  Table table({{"N", kRight}, {"NAME"}, {"LAST"}});
  table.AddRow({"1", "long name", "x"});
  table.AddRow({"100", "é", ""});
  EXPECT_EQ(table.ToText(0),
            "  N  NAME       LAST\n"
            "  1  long name  x\n"
            "100  é\n");
}

TEST(Table, CutsTheElasticColumnToTheWidth) {
  Table table({{"CAUSE", kLeft, true}, {"KEY"}});
  table.AddRow({"Index::Lookup < Editor::OnKey", "k1"});
  table.AddRow({"ééééééééééééééééééééé", "k2"});
  EXPECT_EQ(table.ToText(20),
            "CAUSE            KEY\n"
            "Index::Lookup …  k1\n"
            "éééééééééééééé…  k2\n");
}

TEST(Table, LeavesColumnsOutWhereTheElasticOneHasNoRoom) {
  Table table({{"HANGS", kRight, false, 1},
               {"CAUSE", kLeft, true},
               {"VERSIONS", kLeft, false, 3},
               {"KEY", kLeft, false, 2}});
  table.AddRow({"12", "Http::Client::Read < Http::Client::Fetch", "1.0 2.0", "0123456789abcdef"});
  EXPECT_THAT(table.ToText(0), ::testing::HasSubstr("VERSIONS"));
  EXPECT_THAT(table.ToText(100), ::testing::HasSubstr("VERSIONS"));
  const std::string narrow = table.ToText(70);
  EXPECT_THAT(narrow, ::testing::Not(::testing::HasSubstr("VERSIONS")));
  EXPECT_THAT(narrow, ::testing::HasSubstr("0123456789abcdef"));
  const std::string narrower = table.ToText(40);
  EXPECT_THAT(narrower, ::testing::Not(::testing::HasSubstr("0123456789abcdef")));
  EXPECT_THAT(narrower, ::testing::HasSubstr("   12  Http::Client::Read < "));
  const std::string narrowest = table.ToText(24);
  EXPECT_THAT(narrowest, ::testing::Not(::testing::HasSubstr("HANGS")));
  EXPECT_THAT(narrowest, ::testing::HasSubstr("Http::Client::Read < Ht"));
}

TEST(ShortForms, HaveThreeDigitsThatCount) {
  EXPECT_EQ(ThreeDigits(0.152), "0.152");
  EXPECT_EQ(ThreeDigits(0.19), "0.19");
  EXPECT_EQ(ThreeDigits(4.1), "4.1");
  EXPECT_EQ(ThreeDigits(27.34), "27.3");
  EXPECT_EQ(ThreeDigits(1234.5), "1234");
  EXPECT_EQ(ThreeDigits(0), "0.0");
}

TEST(Table, ShowsNoControlCharacters) {
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f\u009b\u00e9"), "a?[31mb???\u00e9");
}

TEST(Table, ShowsNoTextInAnotherOrderThanItHas) {
  EXPECT_EQ(Printable("a\u202eb\u2066c\u200fd\u061ce\ufefff\u200bg\u2028h"), "a?b?c?d?e?f?g?h");
  EXPECT_EQ(Printable("\u05d0 \u2026 \u20ac \u2190 \xe2\x80"), "\u05d0 \u2026 \u20ac \u2190 ??");
  EXPECT_EQ(Printable("\x9b"
                      "31m \xf0\x9f\x98\x80"),
            "?31m \xf0\x9f\x98\x80");
}

TEST(ShortForms, AreShort) {
  EXPECT_EQ(ShortDuration(312.4), "312 ms");
  EXPECT_EQ(ShortDuration(4123.4), "4.1 s");
  EXPECT_EQ(UtcTime(1'700'000'000'000), "2023-11-14 22:13:20");
  EXPECT_EQ(Join({"a", "b", "a"}, " < "), "a < b < a");
}

}  // namespace
}  // namespace lagwatch::tools
