// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_string.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

TEST(QueryString, DecodesWhatItWrote) {
  QueryString query;
  query.Set("app", "ed it&or=100%+ä");
  query.Set("empty", "");
  auto parsed = QueryString::Parse(query.ToText());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Get("app"), "ed it&or=100%+ä");
  EXPECT_EQ(query.ToText().find("empty"), std::string::npos);
}

TEST(QueryString, TakesPlusForABlankAndTheLastOfRepeatedNames) {
  auto parsed = QueryString::Parse("app=a+b&level=1&level=2&&flag");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Get("app"), "a b");
  EXPECT_EQ(parsed->Get("level"), "2");
  EXPECT_EQ(parsed->Get("flag"), "");
}

TEST(QueryString, RefusesBrokenEscapes) {
  for (const char* text : {"a=%", "a=%4", "a=%zz", "%=1", "a=%-1"}) {
    EXPECT_FALSE(QueryString::Parse(text).ok()) << text;
  }
}

TEST(QueryString, ChecksNumbers) {
  auto parsed = QueryString::Parse("good=7&text=x&large=101&tail=7x&huge=99999999999999999999");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed->GetInt("good", 1, 1, 100), 7);
  EXPECT_EQ(*parsed->GetInt("missing", 42, 1, 100), 42);
  for (const char* name : {"text", "large", "tail", "huge"}) {
    EXPECT_FALSE(parsed->GetInt(name, 1, 1, 100).ok()) << name;
  }
}

}  // namespace
}  // namespace lagwatch::collector
