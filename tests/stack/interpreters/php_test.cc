// SPDX-License-Identifier: Apache-2.0
// Reading of PHP's data: memory that makes no sense, versions that are not known, and names of files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/php/reader.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::php {
namespace {

// Words that PHP might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kGlobals = 0x2000;
  static constexpr uint64_t kOther = 0x6000;

  explicit Noise(uint32_t seed) : random_(seed) {}

 protected:
  bool ReadBytes(uint64_t, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // Addresses, a text's header, a text's size that is a user's function as well, an object, noise.
      const uint64_t kinds[] = {
          kOther, kOther + 64, uint64_t{6} << 32, 2, 0, 8, random_() % 4 == 0 ? random_() : 0};
      const uint64_t word = kinds[random_() % std::size(kinds)];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    return random_() % 64 != 0;
  }

 private:
  std::mt19937_64 random_;
};

TEST(PhpReader, EndsWhateverItReads) {
  PhpReader reader;
  ScriptFunctions functions;
  ScriptFrames frames;
  Registers registers{};
  registers.known_mask = Registers::kAllKnown;
  registers.value[0] = Noise::kOther;
  uint64_t reads_with_frames = 0;
  for (uint32_t seed = 0; seed < 50'000; ++seed) {
    Noise memory(seed);
    reader.Attach(&memory, Noise::kGlobals, Noise::kGlobals);
    reads_with_frames += reader.Read(&registers, &functions, &frames);
    EXPECT_LE(frames.count, ScriptFrames::kMost);
    EXPECT_LT(memory.read_count(), 3'000u);
  }
  EXPECT_GT(reads_with_frames, 10u);
}

// Says that its first module was built for a version of the module interface.
class VersionMemory final : public Memory {
 public:
  VersionMemory(uint32_t version, uint8_t is_thread_safe)
      : version_(version), is_thread_safe_(is_thread_safe) {}

 protected:
  bool ReadBytes(uint64_t, void* destination, size_t size_bytes) override {
    std::memset(destination, 0, size_bytes);
    const uint64_t address = 0x4000;
    if (size_bytes == sizeof address) {
      std::memcpy(destination, &address, sizeof address);
    } else {
      std::memcpy(static_cast<char*>(destination) + 4, &version_, sizeof version_);
      static_cast<uint8_t*>(destination)[9] = is_thread_safe_;
    }
    return true;
  }

 private:
  uint32_t version_;
  uint8_t is_thread_safe_;
};

PhpReader::Version VersionOf(uint32_t version, uint8_t is_thread_safe) {
  VersionMemory memory(version, is_thread_safe);
  PhpReader reader;
  reader.Attach(&memory, 0x1000, 0x2000);
  return reader.FindVersion();
}

TEST(PhpReader, RefusesVersionsThatAreNotKnown) {
  EXPECT_EQ(VersionOf(20220829, 0), PhpReader::Version::kKnown);
  EXPECT_EQ(VersionOf(20220829, 1), PhpReader::Version::kOther);
  EXPECT_EQ(VersionOf(20230831, 0), PhpReader::Version::kOther);
}

TEST(PhpFileNames, AreTheSameOnAllMachines) {
  EXPECT_EQ(StablePath("/var/www/shop/index.php"), "index.php");
  EXPECT_EQ(StablePath("index.php"), "index.php");
  EXPECT_EQ(StablePath("/var/www/shop/vendor/monolog/monolog/src/Logger.php"),
            "monolog/monolog/src/Logger.php");
}

}  // namespace
}  // namespace lagwatch::stack::php
