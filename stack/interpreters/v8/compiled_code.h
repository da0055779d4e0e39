// SPDX-License-Identifier: Apache-2.0
// The places in scripts of code that V8 compiled: by its baseline compiler, instruction by instruction of the
// bytecode, and by its optimising compilers, with functions inlined into each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/v8/heap.h"
#include "stack/interpreters/v8/layout.h"
#include "stack/interpreters/v8/lines.h"

namespace lagwatch::stack::v8 {

// A call in optimised code.
struct InlinedCall {
  uint64_t shared;  // the function's shared part; 0: that of the code itself
  Position position;
};

// The sizes of bytecodes, by their operands' scale: 1, 2 and 4.
struct BytecodeSizes {
  static constexpr size_t kMost = 256;

  std::array<std::array<uint8_t, kMost>, 3> bytes{};
  size_t count = 0;  // 0: not known

  // The size of the first one of `bytecodes`, with its prefix; 0 if it is not known.
  size_t SizeOf(std::span<const uint8_t> bytecodes) const;
};

// The offset of the bytecode that baseline code runs before `end_of_call`, an offset in the code; -1: none.
// `table` is V8's (v8/src/baseline/bytecode-offset-iterator.h). Context: any; pure.
int64_t BytecodeAt(std::span<const uint8_t> table, std::span<const uint8_t> bytecodes,
                   const BytecodeSizes& sizes, uint64_t end_of_call);

// Context: watchdog; not thread-safe. Large: not for the stack.
class CompiledCode {
 public:
  static constexpr int64_t kNone = -1;
  static constexpr size_t kMostInlined = 32;

  // All are borrowed.
  void Attach(Heap* heap, const V8Layout* layout, const Version& version, const ExportedSymbols& exports);

  void AttachForTest(Heap* heap, const V8Layout* layout) {
    heap_ = heap;
    layout_ = layout;
    sizes_.count = BytecodeSizes::kMost;
    sizes_.bytes[0].fill(2);
  }

  // The offset of the bytecode that baseline code of a function is in; kNone if there is none at
  // `end_of_call`, an address.
  int64_t FindBytecode(uint64_t shared, uint64_t bytecode_array, uint64_t end_of_call);
  // The calls that optimised code is in, innermost first; returns their number, 0 if that is not known.
  size_t FindCalls(uint64_t function, uint64_t end_of_call, std::span<InlinedCall, kMostInlined> calls);

 private:
  static constexpr size_t kMostBytes = 64 << 10;

  struct Code {
    uint64_t object;
    uint64_t start;
    uint64_t size;
  };
  // The code that a tagged word points to, if `end_of_call` is in it.
  bool ReadCode(uint64_t word, uint64_t end_of_call, Code* code);
  bool FindOptimized(uint64_t function, uint64_t end_of_call, Code* code);
  // Looks backwards from `end_of_call` for the object that the instructions are in.
  bool SearchBackwards(uint64_t end_of_call, Code* code);
  bool IsCodeMap(uint64_t word, int* tests);
  // Returns the size of the array of bytes, cut to fit `bytes`.
  size_t ReadArray(uint64_t word, std::span<uint8_t> bytes);
  uint64_t ReadElement(uint64_t array, int32_t index);

  Heap* heap_ = nullptr;
  const V8Layout* layout_ = nullptr;
  BytecodeSizes sizes_;
  uint64_t code_map_ = 0;  // of the objects that instructions are in; 0: not met
  std::array<uint8_t, kMostBytes> bytes_{};
  std::array<uint8_t, kMostBytes> bytecodes_{};
};

}  // namespace lagwatch::stack::v8
