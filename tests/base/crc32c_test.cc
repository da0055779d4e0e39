// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string_view>

namespace lagwatch::base {
namespace {

using Block = std::array<unsigned char, 32>;

uint32_t Crc32cOf(const Block& block) { return Crc32c(block.data(), block.size()); }

TEST(Crc32c, AgreesWithTheVectorsOfRfc3720AppendixB4) {
  Block block{};
  EXPECT_EQ(Crc32cOf(block), 0x8A9136AAu);
  block.fill(0xff);
  EXPECT_EQ(Crc32cOf(block), 0x62A8AB43u);
  std::iota(block.begin(), block.end(), 0);
  EXPECT_EQ(Crc32cOf(block), 0x46DD794Eu);
  std::iota(block.rbegin(), block.rend(), 0);
  EXPECT_EQ(Crc32cOf(block), 0x113FDB5Cu);
}

TEST(Crc32c, AgreesWithTheCatalogueOfCrcs) { EXPECT_EQ(Crc32c("123456789", 9), 0xE3069283u); }

TEST(Crc32c, OfNothingIsItsSeed) {
  EXPECT_EQ(Crc32c(nullptr, 0), 0u);
  EXPECT_EQ(Crc32c(nullptr, 0, 0xE3069283), 0xE3069283u);
}

TEST(Crc32c, ContinuesWhereAnEarlierPieceEnded) {
  constexpr std::string_view kText = "123456789";
  for (size_t cut = 0; cut <= kText.size(); ++cut) {
    uint32_t first = Crc32c(kText.data(), cut);
    EXPECT_EQ(Crc32c(kText.data() + cut, kText.size() - cut, first), 0xE3069283u) << "cut at " << cut;
  }
}

}  // namespace
}  // namespace lagwatch::base
