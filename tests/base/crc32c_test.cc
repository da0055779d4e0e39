// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/crc32c_interleaved.h"

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

using Way = uint32_t (*)(const unsigned char*, size_t, uint32_t);

uint32_t ByTheByte(const unsigned char* bytes, size_t size_bytes, uint32_t running) {
  for (size_t i = 0; i < size_bytes; ++i) running = crc32c_ways::StepByte(running, bytes[i]);
  return running;
}

// Every length up to a few rounds of what a way does in one, at every alignment.
void ExpectAgreesWithThePlainTable(Way way) {
  constexpr size_t kLongest = 3 * crc32c_ways::kLanes * crc32c_ways::kBlockBytes + 20;
  std::vector<unsigned char> bytes(kLongest + 8);
  uint32_t random = 1;
  for (unsigned char& byte : bytes)
    byte = static_cast<unsigned char>((random = random * 1664525 + 1013904223) >> 24);
  for (size_t size_bytes = 0; size_bytes <= kLongest; ++size_bytes) {
    const unsigned char* begin = bytes.data() + size_bytes % 8;
    const uint32_t running = static_cast<uint32_t>(size_bytes * 0x9E3779B9);
    ASSERT_EQ(way(begin, size_bytes, running), ByTheByte(begin, size_bytes, running))
        << size_bytes << " bytes";
  }
}

TEST(Crc32c, SlicesAgreeWithThePlainTable) { ExpectAgreesWithThePlainTable(&crc32c_ways::BySlices); }

TEST(Crc32c, TheInstructionAgreesWithThePlainTable) {
  if (!crc32c_ways::HasInstruction()) GTEST_SKIP() << "this processor has none";
  ExpectAgreesWithThePlainTable(&crc32c_ways::ByInstruction);
}

}  // namespace
}  // namespace lagwatch::base
