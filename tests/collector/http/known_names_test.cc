// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/known_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;

TEST(KnownNames, TheNearestNameIsFound) {
  const KnownNames known = {"app", "version", "verdict", "os", "limit", "distribution"};
  EXPECT_EQ(NearestName("verison", known), "version");
  EXPECT_EQ(NearestName("limt", known), "limit");
  EXPECT_EQ(NearestName("distro", known), "");
  EXPECT_EQ(NearestName("distr", known), "distribution");
  EXPECT_EQ(NearestName("App", known), "app");
  EXPECT_EQ(NearestName("colour", known), "");
  EXPECT_EQ(NearestName(std::string(10'000, 'x'), known), "");
}

TEST(KnownNames, AnUnknownParameterIsRefusedWithTheNearestOne) {
  const KnownNames known = {"app", "version"};
  EXPECT_FALSE(RefuseUnknownParameters("", known));
  EXPECT_FALSE(RefuseUnknownParameters("app=x&version=%31", known));
  EXPECT_FALSE(RefuseUnknownParameters("%zz", known)) << "is refused as unreadable";
  const auto refusal = RefuseUnknownParameters("app=x&verison=9", known);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 400);
  EXPECT_THAT(refusal->body, HasSubstr("do you mean \\\"version\\\"?"));
  EXPECT_THAT(RefuseUnknownParameters("zzzz=9", known)->body, HasSubstr("known are app, version"));
  EXPECT_THAT(RefuseUnknownParameters("zzzz=9", {})->body, HasSubstr("there are none"));
}

TEST(KnownNames, AnUnknownFieldIsRefused) {
  const KnownNames known = {"name", "access"};
  EXPECT_FALSE(RefuseUnknownFields(R"({"name": "x", "access": "read"})", known));
  EXPECT_FALSE(RefuseUnknownFields("no JSON", known)) << "its handler refuses it";
  const auto refusal = RefuseUnknownFields(R"({"name": "x", "app": "editor"})", known);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 400);
}

}  // namespace
}  // namespace lagwatch::collector
