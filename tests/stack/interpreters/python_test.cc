// SPDX-License-Identifier: Apache-2.0
// Reading of CPython's data: tables of lines against Python itself, and memory that makes no sense.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/python/layout.h"
#include "stack/interpreters/python/reader.h"
#include "stack/interpreters/script_frames.h"
#include "tests/stack/interpreters/pythons.h"
#include "tests/testing/process.h"

namespace lagwatch::stack::python {
namespace {

using testing::Process;

std::vector<uint8_t> FromHex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

TEST(PythonLines, AreThosePythonItselfReads) {
  for (const std::string& python : lagwatch::testing::Pythons()) {
    Process oracle({python, LAGWATCH_LINES_ORACLE});
    ASSERT_EQ(oracle.Wait(), 0) << oracle.Errors();
    std::istringstream output(oracle.Output());
    size_t compared = 0;
    for (std::string text; std::getline(output, text);) {
      std::istringstream line(text);
      int kind = 0;
      uint32_t first_line = 0;
      std::string table;
      line >> kind >> first_line >> table;
      const std::vector<uint8_t> bytes = FromHex(table == "-" ? "" : table);
      for (std::string pair; line >> pair;) {
        const size_t colon = pair.find(':');
        const auto instruction = static_cast<uint32_t>(std::stoul(pair));
        ASSERT_EQ(LineOf(static_cast<LineTable>(kind), bytes, first_line, instruction),
                  std::stoul(pair.substr(colon + 1)))
            << python << " " << text.substr(0, 200) << " at " << pair;
        ++compared;
      }
    }
    EXPECT_GT(compared, 10'000u) << python;
  }
}

TEST(PythonLines, AnyBytesAreRead) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> bytes(random() % 64);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    for (LineTable kind : {LineTable::kLnotab, LineTable::kLineTable, LineTable::kLocations})
      LineOf(kind, bytes, random(), random() % 4096);
  }
}

// Memory of words that an interpreter might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kType = 0x1000;

  explicit Noise(uint32_t seed) : random_(seed) {}

 protected:
  bool ReadBytes(uint64_t, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // An end, the thread's id, a type or an aligned address, a text's state, noise.
      const uint64_t kinds[] = {0, 3, kType, kType, 0x64, random_() % 4 == 0 ? random_() : 0};
      const uint64_t word = kinds[random_() % 6];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    return random_() % 64 != 0;
  }

 private:
  std::mt19937_64 random_;
};

// The types are those that the noise often has, so that its objects pass for the interpreter's.
constexpr Symbols kNoiseSymbols{.runtime = 0x2000,
                                .code_type = Noise::kType,
                                .text_type = Noise::kType,
                                .bytes_type = Noise::kType,
                                .number_type = Noise::kType,
                                .dict_type = Noise::kType,
                                .module_type = Noise::kType,
                                .coroutine_type = Noise::kType,
                                .function_type = Noise::kType,
                                .version = 0};

TEST(PythonReader, EndsWhateverItReads) {
  auto reader = std::make_unique<PythonReader>();
  ScriptFunctions functions;
  ScriptFrames frames;
  uint64_t reads_with_frames = 0;
  for (uint32_t seed = 0; seed < 200'000; ++seed) {
    Noise memory(seed);
    ASSERT_TRUE(reader->Attach(&memory, kNoiseSymbols, 8 + static_cast<int>(seed % 5)));
    const uint64_t before = memory.read_count();
    const bool has_frames = reader->Read(3, &functions, &frames);
    reads_with_frames += has_frames;
    EXPECT_LE(frames.count, ScriptFrames::kMost);
    EXPECT_LT(memory.read_count() - before, 6'100u);
    if (!has_frames) continue;
    TaskText task;
    reader->ReadTask(&functions, &task);
    EXPECT_LT(memory.read_count() - before, 6'100u + 20'000u);
  }
  EXPECT_GT(reads_with_frames, 0u);
}

// _PyRuntime of 3.13 says itself where a frame's members are: places far out of a frame are refused.
TEST(PythonReader, RefusesOffsetsThatMakeNoSense) {
  class Offsets final : public Memory {
   public:
    uint64_t owner = 70;

   protected:
    bool ReadBytes(uint64_t, void* destination, size_t size_bytes) override {
      std::vector<uint64_t> words(size_bytes / 8, 16);
      std::memcpy(words.data(), "xdebugpy", 8);
      words[2] = 0;
      words[33] = owner;
      std::memcpy(destination, words.data(), size_bytes);
      return true;
    }
  };
  Offsets memory;
  auto reader = std::make_unique<PythonReader>();
  EXPECT_TRUE(reader->Attach(&memory, kNoiseSymbols, 13));
  memory.owner = 4000;
  EXPECT_FALSE(reader->Attach(&memory, kNoiseSymbols, 13));
}

// A later version moves members: its frames are refused before anything of them is read.
class VersionMemory final : public Memory {
 public:
  static constexpr uint64_t kVersion = 0x3000;

  explicit VersionMemory(uint32_t version, bool is_free_threaded) : version_(version) {
    offsets_[2] = is_free_threaded ? 1 : 0;
  }

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    if (address == kVersion) {
      std::memcpy(destination, &version_, size_bytes);
      return true;
    }
    if (address != kNoiseSymbols.runtime || size_bytes > sizeof offsets_) return false;
    std::memcpy(destination, offsets_.data(), size_bytes);
    std::memcpy(destination, "xdebugpy", 8);
    return true;
  }

 private:
  uint32_t version_;
  std::array<uint64_t, 64> offsets_{};
};

bool IsAttached(uint32_t version, bool is_free_threaded) {
  VersionMemory memory(version, is_free_threaded);
  Symbols symbols = kNoiseSymbols;
  symbols.version = VersionMemory::kVersion;
  auto reader = std::make_unique<PythonReader>();
  const bool is_attached = reader->Attach(&memory, symbols, 13);
  EXPECT_EQ(reader->version(), version);
  EXPECT_EQ(IsFreeThreaded(&memory, symbols.runtime), is_free_threaded);
  return is_attached;
}

TEST(PythonReader, RefusesVersionsThatAreNotKnown) {
  EXPECT_TRUE(IsAttached(0x030d00f0, false));
  EXPECT_FALSE(IsAttached(0x030d00f0, true));
  EXPECT_FALSE(IsAttached(0x030e00f0, false));
  EXPECT_FALSE(IsAttached(0x030f00a1, false));
  EXPECT_FALSE(IsAttached(0x040b00f0, false));
}

}  // namespace
}  // namespace lagwatch::stack::python
