// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

TEST(CsvText, HasAColumnForEachKeyOfAnyLine) {
  EXPECT_EQ(CsvText(Json::parse(R"([{"a": 1, "in": {"b": 2.5}}, {"a": null, "c": true}])")),
            "a,in.b,c\r\n1,2.5,\r\n,,true\r\n");
}

TEST(CsvText, JoinsStacksAndLeavesOutOtherLists) {
  EXPECT_EQ(CsvText(Json::parse(R"([{"frames": ["Save", "OnSave"], "children": [{"a": 1}], "none": []}])")),
            "frames,none\r\nSave < OnSave,\r\n");
}

TEST(CsvText, QuotesWhatWouldBreakALine) {
  EXPECT_EQ(CsvText(Json::parse(R"([{"a": "say \"hi\", now\nor never"}])")),
            "a\r\n\"say \"\"hi\"\", now\nor never\"\r\n");
}

TEST(CsvText, ASpreadsheetSeesNoFormula) {
  EXPECT_EQ(
      CsvText(Json::parse(R"x([{"a": "=cmd|' /C calc'!A0", "b": "-1+1", "c": "@SUM(1,2)", "d": -1}])x")),
      "a,b,c,d\r\n'=cmd|' /C calc'!A0,'-1+1,\"'@SUM(1,2)\",-1\r\n");
}

TEST(CsvText, OfNothingIsNothing) { EXPECT_EQ(CsvText(Json::array()), ""); }

}  // namespace
}  // namespace lagwatch::collector
