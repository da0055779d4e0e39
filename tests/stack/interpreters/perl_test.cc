// SPDX-License-Identifier: Apache-2.0
// Reading of Perl's data: memory that makes no sense, and names of files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>

#include "stack/code/script_functions.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/perl/reader.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::perl {
namespace {

// An interpreter whose contexts and operations are words that Perl might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kInterpreter = 0x2000;
  static constexpr uint64_t kStack = 0x4000;
  static constexpr uint64_t kOther = 0x6000;

  explicit Noise(uint32_t seed) : random_(seed) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // Addresses, a sub, an evaluation of a text, a function and a glob, an operation with parts, a key's
      // size, noise.
      const uint64_t kinds[] = {kOther,
                                kOther + 64,
                                9,
                                0x2b8b'000b,
                                uint64_t{13} << 32,
                                uint64_t{9} << 32,
                                uint64_t{0x44} << 16 | 1 << 14,
                                uint64_t{4} << 32,
                                random_() % 4 == 0 ? random_() : 0};
      const uint64_t word = kinds[random_() % std::size(kinds)];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    const auto set = [&](uint64_t at, uint64_t value) {
      if (address <= at && at + sizeof value <= address + size_bytes)
        std::memcpy(bytes + (at - address), &value, sizeof value);
    };
    set(kInterpreter, kOther);
    set(kInterpreter + 8, kOther + 64);
    set(kInterpreter + 24, kOther);
    set(kInterpreter + 32, kOther + 8);
    set(kInterpreter + 208, kOther);
    set(kInterpreter + 216, kOther);
    set(kInterpreter + 224, kStack);
    set(kStack, kOther);
    set(kStack + 8, kOther);
    set(kStack + 16, kStack);
    set(kStack + 32, uint64_t{16} << 32 | random_() % 8);
    set(kStack + 40, random_() % 4 << 32);
    return random_() % 64 != 0;
  }

 private:
  std::mt19937_64 random_;
};

TEST(PerlReader, EndsWhateverItReads) {
  auto reader = std::make_unique<PerlReader>();
  ScriptFunctions functions;
  ScriptFrames frames;
  const uint64_t candidates[] = {0x10, Noise::kInterpreter};
  uint64_t reads_with_frames = 0;
  for (uint32_t seed = 0; seed < 5'000; ++seed) {
    Noise memory(seed);
    reader->Attach(&memory);
    reads_with_frames += reader->Read(candidates, &functions, &frames);
    EXPECT_LE(frames.count, ScriptFrames::kMost);
    EXPECT_LT(memory.read_count(), 3'500u);
  }
  EXPECT_GT(reads_with_frames, 10u);
}

TEST(PerlFileNames, AreTheSameOnAllMachines) {
  EXPECT_EQ(StablePath("/home/me/app.pl"), "app.pl");
  EXPECT_EQ(StablePath("app.pl"), "app.pl");
  EXPECT_EQ(StablePath("(eval 17)"), "(eval)");
  EXPECT_EQ(StablePath("/usr/share/perl/5.36.0/File/Find.pm"), "File/Find.pm");
  EXPECT_EQ(StablePath("/usr/lib/x86_64-linux-gnu/perl/5.36/IO/Select.pm"), "IO/Select.pm");
  EXPECT_EQ(StablePath("/usr/lib/x86_64-linux-gnu/perl-base/IO/Handle.pm"), "IO/Handle.pm");
  EXPECT_EQ(StablePath("/usr/lib/x86_64-linux-gnu/perl5/5.36/DBI.pm"), "DBI.pm");
  EXPECT_EQ(StablePath("/usr/share/perl5/LWP/UserAgent.pm"), "LWP/UserAgent.pm");
}

}  // namespace
}  // namespace lagwatch::stack::perl
