// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cluster_edits.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

TEST(ClusterEdits, ShowReportsAsTheyAreUntilSomebodyChangesThem) {
  EXPECT_EQ(ClusterEdits().ShownKey("a", "a2"), "a");
}

TEST(ClusterEdits, FollowMergesOneAfterTheOther) {
  ClusterEdits edits;
  ASSERT_TRUE(edits.Merge("a", "b").ok());
  ASSERT_TRUE(edits.Merge("b", "c").ok());
  EXPECT_EQ(edits.ShownKey("a", "a2"), "c");
  EXPECT_EQ(edits.ShownKey("b", "b2"), "c");
  ASSERT_TRUE(edits.Merge("a", "d").ok()) << "instead of the merge into b";
  EXPECT_EQ(edits.ShownKey("a", "a2"), "d");
}

TEST(ClusterEdits, RefuseToMergeInACircle) {
  ClusterEdits edits;
  EXPECT_FALSE(edits.Merge("a", "a").ok());
  ASSERT_TRUE(edits.Merge("a", "b").ok());
  ASSERT_TRUE(edits.Merge("b", "c").ok());
  EXPECT_EQ(edits.Merge("c", "a").code(), base::StatusCode::kInvalid);
  EXPECT_EQ(edits.ShownKey("a", "a2"), "c");
}

TEST(ClusterEdits, ShowASplitClustersReportsUnderTheirLevel2Keys) {
  ClusterEdits edits;
  edits.Split("a");
  EXPECT_EQ(edits.ShownKey("a", "a2"), "a2");
  EXPECT_EQ(edits.ShownKey("b", "b2"), "b");
  ASSERT_TRUE(edits.Merge("a2", "b").ok()) << "a part of one may belong to another";
  EXPECT_EQ(edits.ShownKey("a", "a2"), "b");
  EXPECT_EQ(edits.ShownKey("a", "a3"), "a3");
}

}  // namespace
}  // namespace lagwatch::policies
