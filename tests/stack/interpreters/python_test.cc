// SPDX-License-Identifier: Apache-2.0
// Reading of CPython's data: tables of lines against Python itself, and memory that makes no sense.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/python/lines.h"
#include "stack/interpreters/python/reader.h"
#include "stack/interpreters/python/splice.h"
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

// Memory where every read succeeds with small numbers, addresses of other such memory, or noise.
class Noise final : public Memory {
 public:
  explicit Noise(uint32_t seed) : random_(seed) {}

 protected:
  bool ReadBytes(uint64_t, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      const uint64_t kinds[] = {0, random_() % 8, kType, 8 * (random_() % 4096), random_() << 32 | random_()};
      const uint64_t word = kinds[random_() % 5];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    return random_() % 16 != 0;
  }

 private:
  static constexpr uint64_t kType = 0x1000;
  std::mt19937_64 random_;
};

TEST(PythonReader, EndsWhateverItReads) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Noise memory(seed);
    const ExportedSymbols exports(&memory, 0x4000, 0x4000);
    exports.Find("_PyRuntime");
    Layout layout;
    FindLayout(&memory, 0x1000, 0, 13, &layout);
    EXPECT_LT(memory.read_count(), 20'000u);
  }
}

Stack StackOf(const std::vector<stack::Frame>& frames) {
  Stack stack;
  stack.Clear();
  stack.completeness = Completeness::kComplete;
  for (const stack::Frame& frame : frames) stack.frames[stack.frame_count++] = frame;
  return stack;
}
std::vector<uint64_t> OffsetsOf(const Stack& stack) {
  std::vector<uint64_t> offsets;
  for (const stack::Frame& frame : stack.view()) offsets.push_back(frame.offset);
  return offsets;
}
Frames FramesOf(const std::vector<Frame>& given) {
  Frames frames;
  for (const Frame& frame : given) frames.frames[frames.count++] = frame;
  return frames;
}

constexpr Place kPlace{.module = 1, .evaluation = 500, .language = 9};
constexpr stack::Frame kEvaluation{1, 510, 500};
constexpr stack::Frame kInterpreter{1, 700, 690};
constexpr stack::Frame kLibc{0, 30, 20};
constexpr stack::Frame kExtension{2, 40, 35};

TEST(PythonSplice, PutsEachCallsFramesInItsPlace) {
  Stack stack =
      StackOf({kLibc, kInterpreter, kEvaluation, kInterpreter, kExtension, kEvaluation, kInterpreter, kLibc});
  Splice(kPlace, FramesOf({{1000, 1, false}, {2000, 2, true}, {3000, 3, true}}), &stack);
  EXPECT_EQ(OffsetsOf(stack), (std::vector<uint64_t>{30, 1001, 2002, 40, 3003, 30}));
}

TEST(PythonSplice, KeepsFramesWhoseCallIsNotThere) {
  Stack stack = StackOf({kLibc, kEvaluation});
  stack.completeness = Completeness::kIncomplete;
  Splice(kPlace, FramesOf({{1000, 1, true}, {2000, 2, true}}), &stack);
  EXPECT_EQ(OffsetsOf(stack), (std::vector<uint64_t>{30, 1001, 2002}));
  EXPECT_EQ(stack.completeness, Completeness::kComplete);
  stack = StackOf({kLibc, kInterpreter});
  Splice(kPlace, FramesOf({{1000, 1, true}}), &stack);
  EXPECT_EQ(OffsetsOf(stack), (std::vector<uint64_t>{30, 1001}));
}

TEST(PythonSplice, LeavesAStackWithoutPythonFramesAlone) {
  Stack stack = StackOf({kLibc, kInterpreter, kEvaluation});
  Splice(kPlace, {}, &stack);
  EXPECT_EQ(stack.frame_count, 3u);
}

TEST(PythonSplice, CutsWhatDoesNotFit) {
  std::vector<stack::Frame> native(kMaxFrames, kExtension);
  native[10] = kEvaluation;
  Stack stack = StackOf(native);
  Splice(kPlace, FramesOf({{1000, 1, false}, {2000, 2, true}}), &stack);
  EXPECT_EQ(stack.frame_count, kMaxFrames);
  EXPECT_EQ(stack.completeness, Completeness::kCut);
  EXPECT_EQ(stack.frames[11].offset, 2002u);
}

}  // namespace
}  // namespace lagwatch::stack::python
