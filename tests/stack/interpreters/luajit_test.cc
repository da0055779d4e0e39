// SPDX-License-Identifier: Apache-2.0
// Reading of LuaJIT's data: memory that makes no sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/luajit/layout.h"
#include "stack/interpreters/luajit/reader.h"

namespace lagwatch::stack::luajit {
namespace {

// A state whose calls are words that an interpreter might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kState = 0x2000;
  static constexpr uint64_t kGlobalState = kState + kStateBytes;
  static constexpr uint64_t kValues = 0x6000;
  static constexpr uint64_t kCStack = 0x8000;
  static constexpr uint64_t kFunction = 0xa000;
  static constexpr uint64_t kPrototype = 0xb000;

  explicit Noise(uint32_t seed) : random_(seed) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // A function, a frame's link, a count, noise.
      const uint64_t kinds[] = {kFunction, kFunction, random_() % 8 * 8 + random_() % 8, random_() % 16,
                                random_() % 8 == 0 ? random_() : 1};
      const uint64_t word = kinds[random_() % std::size(kinds)];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    const auto set = [&](uint64_t at, auto value) {
      if (address <= at && at + sizeof value <= address + size_bytes)
        std::memcpy(bytes + (at - address), &value, sizeof value);
    };
    set(kFunction + kType, random_() % 16 == 0 ? kThreadType : kFunctionType);
    set(kFunction + kFunctionKind, static_cast<uint8_t>(random_() % 3));
    set(kFunction + kFunctionCode, kPrototype + kPrototypeBytes);
    set(kPrototype + kType, random_() % 16 == 0 ? kFunctionType : kPrototypeType);
    set(kPrototype + kCodeCount, static_cast<uint32_t>(random_() % 64));
    set(kPrototype + kFirstLine, static_cast<uint32_t>(random_() % 64));
    set(kPrototype + kBytes, uint32_t{1000});
    set(kState + kType, kThreadType);
    set(kState + kStatus, uint8_t{0});
    set(kState + kGlobal, kGlobalState);
    set(kState + kStack, kValues);
    set(kState + kBase, kValues + 64);
    set(kState + kTop, kValues + 320);
    set(kState + kLast, kValues + 1600);
    set(kState + kInnermostCFrame, kCStack);
    set(kCStack + kCFrame.state, kState);
    return random_() % 64 != 0;
  }

 private:
  std::mt19937_64 random_;
};

TEST(LuaJitReader, EndsWhateverItReads) {
  auto reader = std::make_unique<LuaJitReader>();
  auto raw = std::make_unique<RawStack>();
  raw->registers = {};
  raw->address = Noise::kCStack;
  raw->size_bytes = 0;
  raw->end = Noise::kCStack + 0x100;
  raw->registers.value[Registers::kStackPointer] = Noise::kCStack;
  raw->registers.value[static_cast<size_t>(kCFrame.base_register)] = Noise::kValues + 48;
  ScriptFunctions functions;
  lua::Calls calls;
  const uint64_t candidates[] = {0x10, Noise::kState};
  uint64_t reads_with_calls = 0;
  for (uint32_t seed = 0; seed < 50'000; ++seed) {
    Noise memory(seed);
    reader->Attach(&memory);
    raw->registers.known_mask = uint64_t{1} << Registers::kStackPointer;
    if (seed % 2 != 0) raw->registers.known_mask |= uint64_t{1} << kCFrame.base_register;
    reads_with_calls += reader->Read(candidates, *raw, &functions, &calls);
    EXPECT_LE(calls.count, lua::Calls::kMost);
    EXPECT_LT(memory.read_count(), 2'400u);
  }
  EXPECT_GT(reads_with_calls, 10u);
}

}  // namespace
}  // namespace lagwatch::stack::luajit
