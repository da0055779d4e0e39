// SPDX-License-Identifier: Apache-2.0
// The line of a place in a function: its position in the script by V8's table, and the line of that position
// by counting line ends in the script's source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/interpreters/memory.h"
#include "stack/interpreters/v8/heap.h"

namespace lagwatch::stack::v8 {

// A position in a script's source.
struct Position {
  static constexpr int32_t kNone = -1;

  int32_t offset = kNone;    // in characters; kNone: not known
  int32_t inlining = kNone;  // in optimised code: the inlined call that it belongs to
};

// SourcePosition (v8/src/codegen/source-position.h).
Position DecodePosition(uint64_t raw);

// The position of the last entry of a table (v8/src/codegen/source-position-table.cc) that is not after
// `code_offset`. Context: any; pure.
Position PositionAt(std::span<const uint8_t> table, int64_t code_offset);

// Counts the line ends of scripts, as far as they are needed, and keeps what it has counted. Context:
// watchdog; not thread-safe. Large: not for the stack.
class LineCounter {
 public:
  // The line, from 1 on, of the character at `position`; 0 if it cannot be read, or not within the budget:
  // then a later call goes on from there. `key` identifies the script.
  uint32_t Find(Memory* memory, uint64_t key, const FlatText& source, uint32_t position);
  // To be called for each stack, which has a budget of its own.
  void BeginStack() { bytes_left_ = kBytesPerStack; }

 private:
  static constexpr uint32_t kBlockBytes = 64 << 10;
  static constexpr size_t kMostBlocks = 1024;
  static constexpr uint64_t kBytesPerStack = 2 << 20;  // of sources: a millisecond or two

  struct Script {
    uint64_t key;
    uint64_t source;
    uint32_t length;
    uint32_t known;                           // blocks whose beginning has a known line
    std::array<uint32_t, kMostBlocks> lines;  // line ends before each block
  };
  struct Line {
    uint64_t key;
    uint64_t source;
    uint32_t position;
    uint32_t line;  // 0: free
  };
  // The number of line ends among the first `count` characters of a block. False if it cannot be read.
  bool CountBlock(Memory* memory, const FlatText& source, uint32_t first, uint32_t count,
                  uint32_t* line_ends);

  std::array<Script, 16> scripts_{};
  std::array<Line, 1024> lines_{};
  std::array<uint8_t, kBlockBytes + 2> bytes_{};
  uint32_t next_script_ = 0;
  uint64_t bytes_left_ = 0;
};

}  // namespace lagwatch::stack::v8
