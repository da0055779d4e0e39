// SPDX-License-Identifier: Apache-2.0
// Script frames take the places of their interpreter's in a native stack.
#include "stack/interpreters/splice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "stack/frames/stack.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack {
namespace {

Stack StackOf(const std::vector<Frame>& frames) {
  Stack stack;
  stack.Clear();
  stack.completeness = Completeness::kComplete;
  for (const Frame& frame : frames) stack.frames[stack.frame_count++] = frame;
  return stack;
}
std::vector<uint64_t> OffsetsOf(const Stack& stack) {
  std::vector<uint64_t> offsets;
  for (const Frame& frame : stack.view()) offsets.push_back(frame.offset);
  return offsets;
}
ScriptFrames FramesOf(const std::vector<ScriptFrame>& given) {
  ScriptFrames frames;
  for (const ScriptFrame& frame : given) frames.frames[frames.count++] = frame;
  return frames;
}

constexpr InterpreterPlace kPlace{.module = 1, .evaluation = 500, .language = 9};
constexpr Frame kEvaluation{1, 510, 500};
constexpr Frame kInterpreter{1, 700, 690};
constexpr Frame kLibc{0, 30, 20};
constexpr Frame kExtension{2, 40, 35};

TEST(ScriptSplice, PutsEachCallsFramesInItsPlace) {
  Stack stack =
      StackOf({kLibc, kInterpreter, kEvaluation, kInterpreter, kExtension, kEvaluation, kInterpreter, kLibc});
  Splice(kPlace, FramesOf({{1000, 1, false}, {2000, 2, true}, {3000, 3, true}}), &stack);
  EXPECT_EQ(OffsetsOf(stack), (std::vector<uint64_t>{30, 1001, 2002, 40, 3003, 30}));
}

TEST(ScriptSplice, KeepsFramesWhoseCallIsNotThere) {
  Stack stack = StackOf({kLibc, kEvaluation});
  stack.completeness = Completeness::kIncomplete;
  Splice(kPlace, FramesOf({{1000, 1, true}, {2000, 2, true}}), &stack);
  EXPECT_EQ(OffsetsOf(stack), (std::vector<uint64_t>{30, 1001, 2002}));
  EXPECT_EQ(stack.completeness, Completeness::kComplete);
  stack = StackOf({kLibc, kInterpreter});
  Splice(kPlace, FramesOf({{1000, 1, true}}), &stack);
  EXPECT_EQ(OffsetsOf(stack), (std::vector<uint64_t>{30, 1001}));
}

TEST(ScriptSplice, LeavesAStackWithoutScriptFramesAlone) {
  Stack stack = StackOf({kLibc, kInterpreter, kEvaluation});
  Splice(kPlace, {}, &stack);
  EXPECT_EQ(stack.frame_count, 3u);
}

TEST(ScriptSplice, CutsWhatDoesNotFit) {
  std::vector<Frame> native(kMaxFrames, kExtension);
  native[10] = kEvaluation;
  Stack stack = StackOf(native);
  Splice(kPlace, FramesOf({{1000, 1, false}, {2000, 2, true}}), &stack);
  EXPECT_EQ(stack.frame_count, kMaxFrames);
  EXPECT_EQ(stack.completeness, Completeness::kCut);
  EXPECT_EQ(stack.frames[11].offset, 2002u);
}

}  // namespace
}  // namespace lagwatch::stack
