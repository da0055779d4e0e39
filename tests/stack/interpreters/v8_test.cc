// SPDX-License-Identifier: Apache-2.0
// Reading of V8's data: tables of positions, line ends, stacks in pieces, and memory that makes no sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/mapped_memory.h"
#include "stack/code/script_functions.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/v8/compiled_code.h"
#include "stack/interpreters/v8/lines.h"
#include "stack/interpreters/v8/reader.h"
#include "stack/interpreters/v8/splice.h"

namespace lagwatch::stack::v8 {
namespace {

void AppendNumber(int64_t value, std::vector<uint8_t>* table) {
  uint64_t bits = static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
  do {
    table->push_back(static_cast<uint8_t>((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0)));
    bits >>= 7;
  } while (bits != 0);
}
uint64_t RawPosition(int32_t offset, int32_t inlining) {
  return static_cast<uint64_t>(offset + 1) << 1 | static_cast<uint64_t>(inlining + 1) << 31;
}

TEST(V8Positions, AreThoseOfTheLastEntryThatIsNotLater) {
  std::vector<uint8_t> table;
  uint64_t last = 0;
  const auto add = [&](int64_t step, bool is_statement, int32_t offset, int32_t inlining) {
    AppendNumber(is_statement ? step : -step - 1, &table);
    AppendNumber(static_cast<int64_t>(RawPosition(offset, inlining) - last), &table);
    last = RawPosition(offset, inlining);
  };
  add(1, true, 40, -1);
  add(5, false, 70, -1);
  add(300, true, 12, 3);
  EXPECT_EQ(PositionAt(table, 0).offset, 40);
  EXPECT_EQ(PositionAt(table, 4).offset, 40);
  EXPECT_EQ(PositionAt(table, 5).offset, 70);
  EXPECT_EQ(PositionAt(table, 304).inlining, Position::kNone);
  EXPECT_EQ(PositionAt(table, 305).offset, 12);
  EXPECT_EQ(PositionAt(table, 1 << 20).inlining, 3);
  EXPECT_EQ(PositionAt(table, -1).offset, Position::kNone);
  EXPECT_EQ(PositionAt({}, 0).offset, Position::kNone);
}

TEST(V8Positions, AnyBytesAreRead) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> bytes(random() % 64);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    PositionAt(bytes, random() % 4096);
  }
}

TEST(V8Bytecodes, AreFoundByTheEndsOfTheirCode) {
  BytecodeSizes sizes;
  sizes.count = 8;
  sizes.bytes[0] = {1, 1, 1, 1, 1, 2, 3, 2};
  sizes.bytes[1] = {0, 0, 0, 0, 1, 3, 5, 3};
  sizes.bytes[2] = {0, 0, 0, 0, 1, 5, 9, 5};
  // Of 2, 3, 1 + 5 and 1 bytes.
  const std::vector<uint8_t> bytecodes = {5, 0, 6, 0, 0, 0, 6, 0, 0, 0, 0, 4};
  const std::vector<uint8_t> table = {20, 4, 0x80, 1, 10, 1};
  EXPECT_EQ(sizes.SizeOf(std::span(bytecodes).subspan(5)), 6u);
  const auto at = [&](uint64_t end_of_call) { return BytecodeAt(table, bytecodes, sizes, end_of_call); };
  EXPECT_EQ(at(5), 0);
  EXPECT_EQ(at(24), 0);
  EXPECT_EQ(at(25), 2);
  EXPECT_EQ(at(152), 2);
  EXPECT_EQ(at(153), 5);
  EXPECT_EQ(at(163), 11);
  EXPECT_EQ(at(164), -1);
  EXPECT_EQ(BytecodeAt({}, bytecodes, sizes, 1), -1);
  EXPECT_EQ(BytecodeAt(table, {}, sizes, 100), -1);
}

// Memory that is one text.
class Text final : public Memory {
 public:
  static constexpr uint64_t kBegin = 0x10000;
  explicit Text(std::string text) : text_(std::move(text)) {}
  FlatText flat(uint32_t char_bytes = 1) const {
    return {kBegin, static_cast<uint32_t>(text_.size()) / char_bytes, char_bytes};
  }

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    if (address < kBegin || address - kBegin + size_bytes > text_.size()) return false;
    std::memcpy(destination, text_.data() + (address - kBegin), size_bytes);
    return true;
  }

 private:
  std::string text_;
};

TEST(V8Lines, EndAsInScripts) {
  Text memory("a\nb\r\nc\rd\n");
  auto lines = std::make_unique<LineCounter>();
  lines->BeginStack();
  const std::vector<uint32_t> expected = {1, 1, 2, 2, 2, 3, 3, 4, 4};
  for (uint32_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(lines->Find(&memory, 1, memory.flat(), i), expected[i]) << i;
  EXPECT_EQ(lines->Find(&memory, 1, memory.flat(), 100), 0u);
  const char16_t wide[] = u"a\u2028b\u2029c";
  Text other(std::string(reinterpret_cast<const char*>(wide), sizeof wide - sizeof wide[0]));
  EXPECT_EQ(lines->Find(&other, 2, other.flat(2), 4), 3u);
}

TEST(V8Lines, OfLargeScriptsAreCountedStepByStep) {
  std::string source;
  for (int i = 0; i < 1'000'000; ++i) source += "x;;\n";
  Text memory(source);
  auto lines = std::make_unique<LineCounter>();
  constexpr uint32_t kLast = 3'999'996;
  uint32_t line = 0;
  int stacks = 0;
  for (; line == 0 && stacks < 10; ++stacks) {
    lines->BeginStack();
    line = lines->Find(&memory, 1, memory.flat(), kLast);
  }
  EXPECT_EQ(line, 1'000'000u);
  EXPECT_GT(stacks, 1);
  const uint64_t before = memory.read_count();
  EXPECT_EQ(lines->Find(&memory, 1, memory.flat(), kLast), 1'000'000u);
  EXPECT_EQ(memory.read_count(), before);
}

constexpr V8Code kPlace{.module = 1, .language = 9, .api_begin = 1000, .api_end = 2000, .callback = 50'000};
constexpr Frame kCode{1, 90'000, 0};
constexpr Frame kInvoke{1, 70'010, 70'000};
constexpr Frame kApi{1, 1510, 1500};
constexpr Frame kCallback{1, 50'010, 50'000};
constexpr Frame kNode{1, 310, 300};
constexpr Frame kCollector{1, 80'010, 80'000};
constexpr Frame kLibc{0, 30, 20};

std::vector<uint64_t> Spliced(const std::vector<Frame>& native, const std::vector<Run>& runs) {
  Stack stack;
  stack.Clear();
  for (const Frame& frame : native) stack.frames[stack.frame_count++] = frame;
  ScriptFrames frames;
  for (uint64_t function : {100'000, 200'000, 300'000}) frames.frames[frames.count++] = {function, 7, false};
  Splice(kPlace, runs, frames, &stack);
  std::vector<uint64_t> offsets;
  for (const Frame& frame : stack.view()) offsets.push_back(frame.offset);
  return offsets;
}

TEST(V8Splice, KeepsWhatTheScriptCalledAndWhatCalledIt) {
  EXPECT_EQ(Spliced({kLibc, kNode, kCallback, kCallback, kCode, kCode, kInvoke, kApi, kNode, kLibc},
                    {{.first = 4, .last = 5, .scripts_begin = 0, .scripts_end = 2}}),
            (std::vector<uint64_t>{30, 310, 100'007, 200'007, 310, 30}));
}

TEST(V8Splice, KeepsEachRunsPlace) {
  EXPECT_EQ(Spliced({kCode, kInvoke, kApi, kNode, kCallback, kCode, kInvoke, kApi, kNode},
                    {{.first = 0, .last = 0, .scripts_begin = 0, .scripts_end = 1},
                     {.first = 5, .last = 5, .scripts_begin = 1, .scripts_end = 3}}),
            (std::vector<uint64_t>{100'007, 310, 200'007, 300'007, 310}));
}

TEST(V8Splice, KeepsV8sOwnWorkAndWhatItCannotTell) {
  // The garbage collector, called by a script.
  EXPECT_EQ(Spliced({kCollector, kCode, kInvoke, kNode},
                    {{.first = 1, .last = 1, .scripts_begin = 0, .scripts_end = 1}}),
            (std::vector<uint64_t>{80'010, 100'007, 70'010, 310}));
  EXPECT_EQ(Spliced({kCode, kNode}, {}), (std::vector<uint64_t>{90'000, 310}));
}

// Memory of words that V8 might have, in no order.
class Noise final : public Memory {
 public:
  explicit Noise(uint64_t seed) : random_(seed) {}

  void Fill(void* destination, size_t size_bytes) {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      // An end, a frame's number, objects, small integers, noise.
      const uint64_t noise = random_() % 4 == 0 ? random_() : 0;
      const uint64_t kinds[] = {2,      2 * (random_() % 30),   0x5001, 0x6001, 0x7001,
                                0x8001, (random_() % 64) << 32, noise};
      const uint64_t word = kinds[random_() % 8];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
  }

 protected:
  bool ReadBytes(uint64_t, void* destination, size_t size_bytes) override {
    // A read of two bytes is one of a type: it gets one that the layout has.
    if (size_bytes == 2) {
      const auto type = static_cast<uint16_t>(16 + random_() % 8);
      std::memcpy(destination, &type, sizeof type);
    } else {
      Fill(destination, size_bytes);
    }
    return random_() % 64 != 0;
  }

 private:
  std::mt19937_64 random_;
};

class AllIsCode final : public CodeKinds {
 public:
  CodeKind KindOf(uint64_t program_counter) override {
    return (program_counter & 8) != 0 ? CodeKind::kBuiltIn : CodeKind::kGenerated;
  }
};

constexpr V8Layout kNoiseLayout{.context_or_type = -8,
                                .function = -16,
                                .bytecode_array = -32,
                                .bytecode_offset = -40,
                                .bytecode_array_register = 12,
                                .bytecode_offset_register = 9,
                                .entry_frame = 1,
                                .construct_entry_frame = 2,
                                .exit_frame = 3,
                                .builtin_exit_frame = 25,
                                .callback_exit_frame = -1,
                                .accessor_exit_frame = -1,
                                .instance_type = 12,
                                .shared = 24,
                                .name_or_scope = 16,
                                .script = 32,
                                .function_data = 8,
                                .builtin_id = 8,
                                .function_flags = 48,
                                .script_source = 8,
                                .script_name = 16,
                                .script_line_offset = 24,
                                .bytecodes = 54,
                                .position_table = 32,
                                .string_length = 12,
                                .string_characters = 16,
                                .external_data = 24,
                                .cons_first = 16,
                                .cons_second = 24,
                                .sliced_parent = 16,
                                .sliced_offset = 24,
                                .thin_actual = 16,
                                .scope_variables = 3,
                                .scope_local_count = 2,
                                .function_type = 16,
                                .shared_type = 20,
                                .scope_type = 0x81,
                                .script_type = 21,
                                .debug_info_type = 22,
                                .bytecode_array_type = 23,
                                .byte_array_type = 19,
                                .trusted_byte_array_type = -1,
                                .code_type = 18,
                                .map_type = 17,
                                .stream_type = 16,
                                .function_code = 48,
                                .code_holds_instructions = false,
                                .code_deoptimization = 16,
                                .code_positions = 24,
                                .code_start = 40,
                                .code_size = 56,
                                .code_of_stream = 8,
                                .literals = 2,
                                .inlinings = 7};

TEST(V8Reader, EndsWhateverItReads) {
  auto reader = std::make_unique<V8Reader>();
  auto raw = base::MapBlock<RawStack>(1);
  raw[0].address = 0x100000;
  raw[0].size_bytes = 4096;
  raw[0].end = raw[0].address + raw[0].size_bytes;
  ScriptFunctions functions;
  AllIsCode code;
  uint64_t runs_with_frames = 0;
  for (uint64_t seed = 0; seed < 30'000; ++seed) {
    Noise memory(seed);
    reader->AttachForTest(&memory, kNoiseLayout);
    memory.Fill(raw[0].bytes, raw[0].size_bytes);
    // Frames that follow each other, of which the last may be the end.
    for (uint64_t at = 64; at < 2048; at += 64) {
      const uint64_t next = raw[0].address + at + 64;
      std::memcpy(&raw[0].bytes[at], &next, sizeof next);
    }
    ScriptFrames frames;
    reader->BeginStack();
    const uint64_t before = memory.read_count();
    runs_with_frames += reader->ReadRun({.end_of_call = 8, .frame_pointer = raw[0].address + 64},
                                        StackWords(raw[0], &memory), &code, &functions, &frames) &&
                        frames.count != 0;
    EXPECT_LE(frames.count, ScriptFrames::kMost);
    EXPECT_LT(memory.read_count() - before, 3'400u);
  }
  EXPECT_GT(runs_with_frames, 10u);
}

}  // namespace
}  // namespace lagwatch::stack::v8
