// SPDX-License-Identifier: Apache-2.0
// HotSpot's code: its interpreter and the blobs of its code heaps. Source: share/memory/heap.cpp,
// share/code/codeBlob.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::jvm {

enum class BlobKind : uint8_t {
  kCompiled,      // compiled code of a method, or the call of a native one
  kStub,          // other code with a frame
  kWithoutFrame,  // adapters and tables: the caller's address is on top of the stack
};

struct Blob {
  uint64_t address;
  uint64_t code;
  uint32_t frame_bytes;     // the return address included
  uint32_t frame_complete;  // the offset in its code from which its frame is there
  BlobKind kind;
};

// Context: watchdog; not thread-safe.
class CodeCache {
 public:
  // Both are borrowed.
  void Attach(Memory* memory, const JvmLayout* layout) {
    memory_ = memory;
    layout_ = layout;
  }
  // Reads where the heaps are, which may grow; to be called before each stack. False if there are none yet.
  bool Refresh();

  bool IsInterpreter(uint64_t pc) const { return interpreter_begin_ <= pc && pc < interpreter_end_; }
  bool Holds(uint64_t pc) const;
  // Whether the interpreter and compiled code return there to the JVM's own code.
  bool IsCallStubReturn(uint64_t pc) const { return pc == call_stub_return_ && pc != 0; }
  // False where there is no code.
  bool FindBlob(uint64_t pc, Blob* blob);

 private:
  static constexpr uint32_t kMostHeaps = 8;
  static constexpr size_t kMostHeadBytes = 256;
  struct Heap {
    uint64_t low;
    uint64_t high;
    uint64_t segments;  // the map of them
    uint32_t segment_shift;
  };
  const Heap* FindHeap(uint64_t pc) const;
  // The first byte of the block that holds the segment; 0 if it is free.
  uint64_t FindBlock(const Heap& heap, uint64_t pc);
  BlobKind KindOf(uint64_t name_address, uint32_t frame_bytes);

  Memory* memory_ = nullptr;
  const JvmLayout* layout_ = nullptr;
  uint64_t interpreter_begin_ = 0;
  uint64_t interpreter_end_ = 0;
  uint64_t call_stub_return_ = 0;
  size_t heap_count_ = 0;
  std::array<Heap, kMostHeaps> heaps_{};
};

}  // namespace lagwatch::stack::jvm
