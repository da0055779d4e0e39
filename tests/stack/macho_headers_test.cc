// SPDX-License-Identifier: Apache-2.0
#include "stack/macho/macho_headers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace lagwatch::stack {
namespace {

constexpr uint32_t kExecute = 4;
constexpr uint64_t kTextAddress = 0x1'0000'0000;

// An image's header and load commands, put together word by word.
class Image {
 public:
  Image() {
    for (uint32_t word : {0xfeedfacfU, 0x0100000cU, 0U, 2U, 0U, 0U, 0U, 0U}) Add(word);
  }
  Image& AddSegment(const char* name, uint64_t address, uint64_t size_bytes, uint64_t file_offset,
                    uint32_t protection) {
    BeginCommand(0x19, 72);
    char text[16] = {};
    std::memcpy(text, name, std::min(std::strlen(name), sizeof text));
    Add(text);
    for (uint64_t word : {address, size_bytes, file_offset, size_bytes}) Add(word);
    for (uint32_t word : {7U, protection, 0U, 0U}) Add(word);
    return *this;
  }
  Image& AddUuid(unsigned char first) {
    BeginCommand(0x1b, 24);
    unsigned char uuid[16] = {first};
    Add(uuid);
    return *this;
  }
  Image& AddOther(uint32_t size_bytes) {
    BeginCommand(0x26, size_bytes);
    bytes_.resize(bytes_.size() + std::max(size_bytes, 8U) - 8);
    return *this;
  }

  uint64_t base() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  void Set(size_t offset, uint32_t word) { std::memcpy(bytes_.data() + offset, &word, sizeof word); }
  bool Read(MachoHeaders* headers) {
    Set(20, static_cast<uint32_t>(bytes_.size() - 32));
    return ReadMachoHeaders(base(), headers);
  }

 private:
  void BeginCommand(uint32_t type, uint32_t size_bytes) {
    Set(16, ++command_count_);
    Add(type);
    Add(size_bytes);
  }
  template <typename T>
  void Add(const T& value) {
    const auto* begin = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
  }

  std::vector<char> bytes_;
  uint32_t command_count_ = 0;
};

TEST(MachoHeaders, HasSlideCodeAndUuid) {
  Image image;
  image.AddSegment("__PAGEZERO", 0, kTextAddress, 0, 0)
      .AddSegment("__TEXT", kTextAddress, 0x8000, 0, 1 | kExecute)
      .AddOther(48)
      .AddSegment("__DATA", kTextAddress + 0x8000, 0x4000, 0x8000, 3)
      .AddUuid(0xab);
  // The page at zero has no bytes in the file.
  image.Set(32 + 48, 0);
  image.Set(32 + 52, 0);
  MachoHeaders headers;
  ASSERT_TRUE(image.Read(&headers));
  EXPECT_EQ(headers.load_bias, image.base() - kTextAddress);
  EXPECT_EQ(headers.end, image.base() + 0x8000);
  ASSERT_EQ(headers.code_segment_count, 1u);
  EXPECT_EQ(headers.code_segments[0].address, kTextAddress);
  EXPECT_EQ(headers.code_segments[0].size_bytes, 0x8000u);
  EXPECT_TRUE(headers.has_uuid);
  EXPECT_EQ(headers.uuid[0], 0xab);
}

TEST(MachoHeaders, AreNoneWithoutTheirMagicNumber) {
  Image image;
  image.AddSegment("__TEXT", kTextAddress, 0x8000, 0, 1 | kExecute);
  image.Set(0, 0xfeedface);
  MachoHeaders headers;
  EXPECT_FALSE(image.Read(&headers));
  EXPECT_FALSE(ReadMachoHeaders(8, &headers));
}

TEST(MachoHeaders, AreNoneWithoutTheFilesBegin) {
  Image image;
  image.AddSegment("__DATA", kTextAddress, 0x4000, 0x8000, 3);
  MachoHeaders headers;
  EXPECT_FALSE(image.Read(&headers));
}

TEST(MachoHeaders, AreNoneWithACommandOfImpossibleSize) {
  for (uint32_t size_bytes : {0U, 4U, 200U, UINT32_MAX}) {
    Image image;
    image.AddSegment("__TEXT", kTextAddress, 0x8000, 0, 1 | kExecute).AddOther(16);
    image.Set(32 + 72 + 4, size_bytes);
    MachoHeaders headers;
    EXPECT_FALSE(image.Read(&headers)) << size_bytes;
  }
}

TEST(MachoHeaders, AreNoneWithASegmentThatIsTooShort) {
  Image image;
  image.AddSegment("__TEXT", kTextAddress, 0x8000, 0, 1 | kExecute);
  image.Set(32 + 4, 40);
  MachoHeaders headers;
  EXPECT_FALSE(image.Read(&headers));
}

TEST(MachoHeaders, KeepTheFirstCodeSegmentsOfMany) {
  Image image;
  image.AddSegment("__TEXT", kTextAddress, 0x1000, 0, kExecute);
  for (uint64_t i = 1; i < 10; ++i)
    image.AddSegment("__MORE", kTextAddress + i * 0x1000, 0x1000, i, kExecute);
  MachoHeaders headers;
  ASSERT_TRUE(image.Read(&headers));
  EXPECT_EQ(headers.code_segment_count, ElfHeaders::kMaxCodeSegments);
}

}  // namespace
}  // namespace lagwatch::stack
