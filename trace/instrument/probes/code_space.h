// SPDX-License-Identifier: Apache-2.0
// Memory for code of probes: at given addresses, and near modules. It is never unmapped, since a thread may
// be in it at any time. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "trace/instrument/code_writer.h"
#include "trace/instrument/probes/memory_map.h"

namespace lagwatch::trace {

class CodeSpace {
 public:
  // Takes the bytes at just that address. False when something is there.
  bool TakeAt(const MemoryMap& memory, uint64_t address, size_t size_bytes);
  // Whether TakeAt() is likely to succeed.
  bool IsFreeAt(const MemoryMap& memory, uint64_t address, size_t size_bytes) const;
  // In the program's own code: the place of a jump, whose distance may be bytes that stay what they are, and
  // padding that is changed. Jumps keep clear of padding that is, and the other way round.
  bool IsJumpFree(uint64_t address) const;
  bool IsPadFree(uint64_t address) const;
  void TakeJump(uint64_t address) { jumps_.insert(address); }
  void TakePad(uint64_t address) { pads_.insert(address); }
  // Takes bytes that branches from all of [begin, end) reach; 0 when there is no room.
  uint64_t TakeNear(const MemoryMap& memory, uint64_t begin, uint64_t end, size_t size_bytes);

 private:
  struct Taken {
    uint64_t begin;
    uint64_t end;
  };
  struct Chunk {
    uint64_t begin;
    uint64_t next;
    uint64_t end;
  };

  static bool Map(const MemoryMap& memory, uint64_t address, uint64_t size_bytes);
  Chunk* AddChunk(const MemoryMap& memory, uint64_t begin, uint64_t end);

  std::map<uint64_t, std::vector<Taken>> pages_;  // by address, of TakeAt()
  std::vector<Chunk> chunks_;
  std::set<uint64_t> jumps_;
  std::set<uint64_t> pads_;
};

}  // namespace lagwatch::trace
