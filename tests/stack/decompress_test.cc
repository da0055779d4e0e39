// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>

#include <cstring>
#include <ostream>
#include <random>
#include <string>

#include "stack/elf/elf_file.h"

namespace lagwatch::stack {
namespace {

std::string Zlib(const std::string& text) {
  uLongf size_bytes = compressBound(text.size());
  std::string compressed(size_bytes, '\0');
  compress2(reinterpret_cast<Bytef*>(compressed.data()), &size_bytes,
            reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_SPEED);
  compressed.resize(size_bytes);
  return compressed;
}

std::string XzOfPreset(uint32_t preset, const std::string& text) {
  size_t size_bytes = 0;
  std::string compressed(lzma_stream_buffer_bound(text.size()), '\0');
  lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                          text.size(), reinterpret_cast<uint8_t*>(compressed.data()), &size_bytes,
                          compressed.size());
  compressed.resize(size_bytes);
  return compressed;
}

std::string Xz(const std::string& text) { return XzOfPreset(0, text); }

struct Format {
  const char* name;
  std::string (*compress)(const std::string& text);
  std::optional<std::string> (*decompress)(std::string_view compressed);
};

void PrintTo(const Format& format, std::ostream* stream) { *stream << format.name; }

class Decompress : public ::testing::TestWithParam<Format> {};

std::string RandomText(size_t size_bytes) {
  std::mt19937 random(11);
  std::string text(size_bytes, '\0');
  for (char& byte : text) byte = static_cast<char>('a' + random() % 20);
  return text;
}

TEST_P(Decompress, YieldsWhatWasCompressed) {
  constexpr size_t kPiece = 256 << 10;
  for (size_t size_bytes : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece}) {
    std::string text = RandomText(size_bytes);
    EXPECT_TRUE(GetParam().decompress(GetParam().compress(text)) == text) << size_bytes;
  }
}

TEST_P(Decompress, WhatIsCutIsRefused) {
  const std::string compressed = GetParam().compress(RandomText(2000));
  for (size_t size_bytes = 0; size_bytes < compressed.size(); ++size_bytes) {
    EXPECT_FALSE(GetParam().decompress(compressed.substr(0, size_bytes)).has_value()) << size_bytes;
  }
}

TEST_P(Decompress, WhatIsDamagedYieldsNothingElse) {
  const std::string text = RandomText(2000);
  const std::string compressed = GetParam().compress(text);
  int refused_count = 0;
  for (size_t place = 0; place < compressed.size(); ++place) {
    std::string damaged = compressed;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x11);
    auto result = GetParam().decompress(damaged);
    EXPECT_TRUE(!result || *result == text) << place;
    refused_count += !result.has_value();
  }
  EXPECT_GT(refused_count, 0);
}

TEST_P(Decompress, WhatIsTooLargeIsRefused) {
  std::string zeros(kMaxDecompressedBytes, '\0');
  EXPECT_FALSE(GetParam().decompress(GetParam().compress(zeros)).has_value());
  zeros.pop_back();
  auto just_small_enough = GetParam().decompress(GetParam().compress(zeros));
  ASSERT_TRUE(just_small_enough.has_value());
  EXPECT_TRUE(*just_small_enough == zeros);
}

INSTANTIATE_TEST_SUITE_P(Formats, Decompress,
                         ::testing::Values(Format{"Zlib", Zlib, DecompressZlib},
                                           Format{"Xz", Xz, DecompressXz}),
                         [](const auto& format) { return format.param.name; });

TEST(DecompressXz, ReadsWhatTheLargestPresetWrote) {
  const std::string text = RandomText(2000);
  for (uint32_t preset : {6u, 9u}) {
    EXPECT_EQ(DecompressXz(XzOfPreset(preset, text)), text) << preset;
  }
}

TEST(DecompressXz, ADictionaryOfGigabytesIsRefused) {
  std::string compressed = Xz(RandomText(2000));
  // After the stream's header: the block header's size, its flags, then the filter, its size
  // and its dictionary's.
  constexpr size_t kBlockHeader = 12;
  constexpr size_t kDictionarySize = kBlockHeader + 4;
  constexpr char kFourGigabytes = 40;
  auto* header = reinterpret_cast<uint8_t*>(compressed.data() + kBlockHeader);
  const size_t checked_bytes = header[0] * 4u;
  auto checksum = [&] { return lzma_crc32(header, checked_bytes, 0); };
  uint32_t stored;
  std::memcpy(&stored, header + checked_bytes, sizeof stored);
  ASSERT_EQ(stored, checksum());
  compressed[kDictionarySize] = kFourGigabytes;
  stored = checksum();
  std::memcpy(header + checked_bytes, &stored, sizeof stored);
  EXPECT_FALSE(DecompressXz(compressed).has_value());
}

}  // namespace
}  // namespace lagwatch::stack
