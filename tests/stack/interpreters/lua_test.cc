// SPDX-License-Identifier: Apache-2.0
// Reading of Lua's data: memory that makes no sense, names of files, and the places of frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/interpreters/bytes.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/layout.h"
#include "stack/interpreters/lua/lua_code.h"
#include "stack/interpreters/lua/reader.h"
#include "stack/interpreters/lua/source_names.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack::lua {
namespace {

// A state whose calls are words that an interpreter might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kState = 0x2000;
  static constexpr uint64_t kGlobal = 0x4000;
  static constexpr uint64_t kOther = 0x6000;

  Noise(uint32_t seed, const LuaLayout& layout) : random_(seed), layout_(layout) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // An aligned address, the outermost call, a type, a count, noise.
      const uint64_t kinds[] = {kOther,
                                kOther,
                                kOther,
                                kState + layout_.base_call,
                                0x46,
                                random_() % 16,
                                random_() % 8 == 0 ? random_() : 1};
      const uint64_t word = kinds[random_() % std::size(kinds)];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    const auto set = [&](uint64_t at, auto value) {
      if (address <= at && at + sizeof value <= address + size_bytes)
        std::memcpy(bytes + (at - address), &value, sizeof value);
    };
    const uint8_t types[] = {6, 6, 0x26, layout_.prototype_type, static_cast<uint8_t>(random_())};
    set(kOther + 8, types[random_() % std::size(types)]);
    set(kState + 8, uint8_t{8});
    set(kState + layout_.status, uint8_t{0});
    set(kState + layout_.stack, kOther);
    set(kState + layout_.top, kOther + 160);
    set(kState + layout_.stack_last, kOther + 1600);
    set(kState + layout_.global, kGlobal);
    set(kState + layout_.protected_call, uint64_t{0});
    set(kGlobal + layout_.main_thread, kState);
    if (layout_.caller == kNone) set(kState + layout_.base_call, kOther);
    set(kState + layout_.call, kOther + layout_.call_bytes);
    return random_() % 64 != 0;
  }

 private:
  std::mt19937_64 random_;
  const LuaLayout& layout_;
};

TEST(LuaReader, EndsWhateverItReads) {
  auto reader = std::make_unique<LuaReader>();
  auto raw = std::make_unique<RawStack>();
  ScriptFunctions functions;
  Calls calls;
  const uint64_t candidates[] = {0x10, Noise::kState};
  for (const LuaLayout* layout : AllLayouts()) {
    uint64_t reads_with_calls = 0;
    for (uint32_t seed = 0; seed < 20'000; ++seed) {
      Noise memory(seed, *layout);
      reader->Attach(&memory, layout);
      reads_with_calls += reader->Read(candidates, *raw, &functions, &calls);
      EXPECT_LE(calls.count, Calls::kMost);
      EXPECT_LT(memory.read_count(), 2'400u);
    }
    EXPECT_GT(reads_with_calls, 10u);
  }
}

TEST(LuaStateSearch, FindsAddressesOfWritableMemoryOnce) {
  auto raw = std::make_unique<RawStack>();
  raw->registers = {};
  raw->registers.value[0] = 0x50010;
  raw->registers.value[Registers::kStackPointer] = 0x10080;
  raw->registers.known_mask = 1 | uint64_t{1} << Registers::kStackPointer;
  raw->address = 0x10000;
  raw->end = 0x10100;
  raw->size_bytes = 0x100;
  // Below the stack pointer; on the stack; not aligned; not writable; found twice.
  const std::pair<size_t, uint64_t> words[] = {{0x78, 0x50020}, {0x80, 0x10090}, {0x88, 0x50031},
                                               {0x90, 0x60000}, {0x98, 0x50010}, {0xa0, 0x50040},
                                               {0xa8, 0x50040}};
  for (const auto& [at, word] : words) std::memcpy(&raw->bytes[at], &word, sizeof word);
  const MemoryRegion regions[] = {{0x10000, 0x11000}, {0x50000, 0x51000}};
  auto search = std::make_unique<StateSearch>();
  search->Collect(*raw, {.regions = regions, .count = 2, .main_stack = {}});
  const auto found = search->candidates();
  EXPECT_EQ(std::vector<uint64_t>(found.begin(), found.end()), (std::vector<uint64_t>{0x50010, 0x50040}));
}

TEST(LuaFileNames, AreTheSameOnAllMachines) {
  FileNames names;
  const auto name_of = [&](std::string_view source) {
    return std::string(names.NameOf(source, source.starts_with('@')));
  };
  EXPECT_EQ(name_of("@/home/me/app.lua"), "app.lua");
  EXPECT_EQ(name_of("@app.lua"), "app.lua");
  EXPECT_EQ(name_of("@/usr/share/lua/5.4/socket/http.lua"), "socket/http.lua");
  EXPECT_EQ(name_of("@user_script"), "user_script");
  EXPECT_EQ(name_of("=stdin"), "stdin");
  EXPECT_EQ(name_of("return a/b"), "[string \"return a/b\"]");
  EXPECT_EQ(name_of("one\ntwo"), "[string \"one...\"]");
  EXPECT_EQ(name_of(std::string(100, 'x')), "[string \"" + std::string(45, 'x') + "...\"]");
  EXPECT_EQ(std::string(names.NameOf("long/path/to/app.lua", true)), "app.lua");
}

TEST(ReadText, IsMadePrintable) {
  const auto clean = [](std::string text) {
    CleanText(text);
    return text;
  };
  EXPECT_EQ(clean("größe"), "größe");
  EXPECT_EQ(clean("a\tb\x01"), "a?b?");
  EXPECT_EQ(clean("\xff\xc3"), "??");
  EXPECT_EQ(clean("\xed\xa0\x80x"), "???x");  // a surrogate
  EXPECT_EQ(clean("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

constexpr uint32_t kProgram = 1;
constexpr uint32_t kLanguage = 9;

// A program that has Lua from 500 to 600, entered by the function at 550.
LuaCode PlaceIn(bool is_only_lua) {
  LuaCode place{};
  place.module = kProgram;
  place.language = kLanguage;
  place.is_only_lua = is_only_lua;
  place.begin = 500;
  place.end = 600;
  place.entry_count = 1;
  place.entries[0] = 550;
  return place;
}
constexpr Frame kEntry{kProgram, 555, 550};
constexpr Frame kCore{kProgram, 515, 510};
constexpr Frame kMain{kProgram, 15, 10};
constexpr Frame kCommand{kProgram, 25, 20};
constexpr Frame kLibc{0, 35, 30};

Stack Spliced(const LuaCode& place, std::initializer_list<Frame> native, std::initializer_list<Call> given) {
  Stack stack;
  stack.Clear();
  stack.completeness = Completeness::kComplete;
  for (const Frame& frame : native) stack.frames[stack.frame_count++] = frame;
  Calls calls;
  for (const Call& call : given) calls.Add(call);
  Splice(place, calls, &stack);
  return stack;
}
std::vector<uint64_t> OffsetsOf(const Stack& stack) {
  std::vector<uint64_t> offsets;
  for (const Frame& frame : stack.view()) offsets.push_back(frame.offset);
  return offsets;
}
constexpr Call Script(uint64_t function, uint32_t line) {
  return {.function = function, .line = line, .c_function = 0};
}
constexpr Call kC{.function = 0, .line = 0, .c_function = 7};

TEST(LuaSplice, ReplacesOnlyLuaInAProgramThatHasIt) {
  EXPECT_EQ(OffsetsOf(Spliced(PlaceIn(false), {kLibc, kCommand, kCore, kCore, kEntry, kMain},
                              {kC, Script(1000, 1), Script(2000, 2)})),
            (std::vector<uint64_t>{35, 25, 1001, 2002, 15}));
  EXPECT_EQ(OffsetsOf(Spliced(PlaceIn(true), {kLibc, kCommand, kCore, kCore, kEntry, kMain},
                              {kC, Script(1000, 1), Script(2000, 2)})),
            (std::vector<uint64_t>{35, 1001, 2002}));
}

TEST(LuaSplice, KeepsFunctionsInCBetweenThoseOfTheirCallers) {
  EXPECT_EQ(OffsetsOf(Spliced(PlaceIn(false), {kCore, kEntry, kCommand, kCore, kEntry, kMain},
                              {Script(1000, 1), kC, Script(2000, 2), Script(3000, 3)})),
            (std::vector<uint64_t>{1001, 25, 2002, 3003, 15}));
  // The outermost call is one of a function in C.
  EXPECT_EQ(OffsetsOf(Spliced(PlaceIn(false), {kCore, kEntry, kCommand, kCore, kEntry, kMain},
                              {Script(1000, 1), kC})),
            (std::vector<uint64_t>{1001, 25, 15}));
}

TEST(LuaSplice, KeepsFunctionsWhosePlaceIsNotThere) {
  // A coroutine went on in a function in C that no longer has a frame.
  EXPECT_EQ(
      OffsetsOf(Spliced(PlaceIn(false), {kCore, kEntry, kMain}, {Script(1000, 1), kC, Script(2000, 2)})),
      (std::vector<uint64_t>{1001, 2002, 15}));
  EXPECT_EQ(OffsetsOf(Spliced(PlaceIn(false), {kLibc, kCore}, {Script(1000, 1), Script(2000, 2)})),
            (std::vector<uint64_t>{35, 1001, 2002}));
}

TEST(LuaSplice, LeavesAStackWithoutScriptsAlone) {
  EXPECT_EQ(OffsetsOf(Spliced(PlaceIn(false), {kCommand, kCore, kEntry, kMain}, {kC})),
            (std::vector<uint64_t>{25, 515, 555, 15}));
}

TEST(LuaSplice, KeepsTheInnermostOfWhatDoesNotFit) {
  Stack stack;
  stack.Clear();
  while (stack.frame_count < kMaxFrames) stack.frames[stack.frame_count++] = kCommand;
  stack.frames[10] = kEntry;
  Calls calls;
  for (uint64_t i = 0; i < 100; ++i) calls.Add(Script(1000 * (i + 1), 1));
  Splice(PlaceIn(false), calls, &stack);
  EXPECT_EQ(stack.frame_count, kMaxFrames);
  EXPECT_EQ(stack.completeness, Completeness::kCut);
  EXPECT_EQ(stack.frames[9].offset, kCommand.offset);
  EXPECT_EQ(stack.frames[10].offset, 1001u);
}

}  // namespace
}  // namespace lagwatch::stack::lua
