// SPDX-License-Identifier: Apache-2.0
// Reading of Ruby's data: memory that makes no sense, and names of files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/ruby/reader.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::ruby {
namespace {

// A context whose frames are words that an interpreter might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kVm = 0x1000;
  static constexpr uint64_t kContext = 0x2000;
  static constexpr uint64_t kThread = 0x4000;
  static constexpr uint64_t kOther = 0x6000;

  explicit Noise(uint32_t seed) : random_(seed) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // Addresses, the flags of a sequence, of a text, an array, a method and a class, a count, noise.
      const uint64_t kinds[] = {kOther,      kOther, kOther,      kOther + 64,
                                0x701a,      0x701a, 5 | 3 << 14, 5 | 3 << 14,
                                7 | 1 << 13, 0x601a, 2,           0x1002,
                                0x20,        0x20,   9,           random_() % 4 == 0 ? random_() : 0};
      const uint64_t word = kinds[random_() % std::size(kinds)];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    const auto set = [&](uint64_t at, uint64_t value) {
      if (address <= at && at + sizeof value <= address + size_bytes)
        std::memcpy(bytes + (at - address), &value, sizeof value);
    };
    set(kContext, kOther);
    set(kContext + 8, 64);
    set(kContext + 16, kOther + 64 * (random_() % 8));
    set(kContext + 24, 0x90);
    set(kContext + 48, kThread);
    set(kVm, kOther);
    set(kThread + 32, kOther);
    set(kThread + 40, kContext);
    return random_() % 512 != 0;
  }

 private:
  std::mt19937_64 random_;
};

TEST(RubyReader, EndsWhateverItReads) {
  auto reader = std::make_unique<RubyReader>();
  auto raw = std::make_unique<RawStack>();
  raw->registers.value[Registers::kStackPointer] = 0x80;
  raw->end = 0x100;
  ScriptFunctions functions;
  ScriptFrames frames;
  const uint64_t candidates[] = {0x10, Noise::kContext};
  uint64_t reads_with_frames = 0;
  for (uint32_t seed = 0; seed < 50'000; ++seed) {
    Noise memory(seed);
    reader->Attach(&memory, Noise::kVm, Noise::kVm);
    reads_with_frames += reader->Read(candidates, *raw, &functions, &frames);
    EXPECT_LE(frames.count, ScriptFrames::kMost);
    EXPECT_LT(memory.read_count(), 4'100u);
  }
  EXPECT_GT(reads_with_frames, 10u);
}

TEST(RubyFileNames, AreTheSameOnAllMachines) {
  EXPECT_EQ(StablePath("/home/me/app.rb"), "app.rb");
  EXPECT_EQ(StablePath("app.rb"), "app.rb");
  EXPECT_EQ(StablePath("<internal:kernel>"), "<internal:kernel>");
  EXPECT_EQ(StablePath("/usr/lib/ruby/3.1.0/net/http.rb"), "net/http.rb");
  EXPECT_EQ(StablePath("/usr/lib/ruby/vendor_ruby/rubygems/gem.rb"), "rubygems/gem.rb");
  EXPECT_EQ(StablePath("/var/lib/gems/3.1.0/gems/rack-2.2.4/lib/rack/builder.rb"), "rack/builder.rb");
}

}  // namespace
}  // namespace lagwatch::stack::ruby
