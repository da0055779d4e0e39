// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/version_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

TEST(VersionOrder, SortsVersionsAsTheirMakersDo) {
  const std::vector<std::string> sorted = {"0.9",
                                           "1.0~beta",
                                           "1.0",
                                           "1.0.1",
                                           "1.2",
                                           "1.10",
                                           "2.0-rc1",
                                           "2.0-rc2",
                                           "2.0-rc10",
                                           "2.0",
                                           "2.0.1",
                                           "10.0",
                                           "99999999999999999999999.0"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t k = 0; k < sorted.size(); ++k)
      EXPECT_EQ(IsOlderVersion(sorted[i], sorted[k]), i < k) << sorted[i] << " " << sorted[k];
  }
}

TEST(VersionOrder, ZerosInFrontSayNothing) {
  EXPECT_FALSE(IsOlderVersion("1.02", "1.2"));
  EXPECT_FALSE(IsOlderVersion("1.2", "1.02"));
  EXPECT_TRUE(IsOlderVersion("2026.09.30", "2026.10.1"));
}

TEST(VersionOrder, NothingIsOlderThanAnyVersion) {
  EXPECT_TRUE(IsOlderVersion("", "1"));
  EXPECT_FALSE(IsOlderVersion("1", ""));
  EXPECT_FALSE(IsOlderVersion("", ""));
}

}  // namespace
}  // namespace lagwatch::policies
