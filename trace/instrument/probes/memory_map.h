// SPDX-License-Identifier: Apache-2.0
// The process's memory map at one moment, for finding where code may be put. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::trace {

class MemoryMap {
 public:
  struct Mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t file_offset;
    uint64_t inode;        // 0: of no file
    bool is_private_code;  // r-xp: what loaders map
    std::string path;
  };

  // Reads it.
  MemoryMap();

  // The first of the mappings that have [begin, end) from one part of a file, one after the other; null
  // without such. (Pages that are exchanged become mappings of their own.)
  const Mapping* FindFile(uint64_t begin, uint64_t end) const;
  // Whether memory there is to be left free: the stack and the heap may grow into it.
  bool IsSpokenFor(uint64_t begin, uint64_t end) const;
  // Whether nothing was there, and it is not to be left free.
  bool IsFree(uint64_t begin, uint64_t end) const;

 private:
  struct Region {
    uint64_t begin;
    uint64_t end;
  };

  std::vector<Mapping> files_;
  std::vector<Region> all_;
  Region stack_{};
  Region heap_{};
};

}  // namespace lagwatch::trace
