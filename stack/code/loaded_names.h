// SPDX-License-Identifier: Apache-2.0
// Names functions of modules to which no path leads from here, or none will when the report is read: files
// that were deleted or replaced since they were loaded, those of another mount namespace, and those without a
// build id, which nothing else can find again. Such a module
// is named while its process has it: by the dynamic symbols in its memory, then by the symbol table of the
// file itself, as /proc/PID has it. Nothing is allocated, and one descriptor is open at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/owned_fd.h"
#include "base/process/mapped_memory.h"
#include "base/process/process.h"
#include "stack/code/module_map.h"

namespace lagwatch::stack {

// Context: watchdog; the construction: background. Not thread-safe.
class LoadedNames {
 public:
  static constexpr size_t kMaxPlaces = 256;
  static constexpr size_t kMaxNameBytes = 1024;

  // A place in the module, and the function there.
  struct Place {
    uint64_t offset;  // Frame::symbol_offset()
    uint64_t begin;
    uint64_t end;
    uint8_t rank;  // RankOf() and 1; 0: none was found
    uint16_t name_size;
    char name[kMaxNameBytes];

    std::string_view name_view() const { return {name, name_size}; }
  };

  LoadedNames();

  // Whether its path leads to another file than the one that was loaded, or to none, or nothing would prove
  // that it leads to the same. Touches the disk.
  static bool IsElsewhere(const Module& module);

  // Looks up the functions at `offsets` of `module`, at most kMaxPlaces of them. `deleted_file` is as
  // ModuleMap::DeletedFile() returns it. The file is opened if memory does not name all and `may_open_file`;
  // then it is set to false. The answer is ascending, and valid until the next call; places without a name
  // have an empty one. It has the names of this module and of no other that has taken its place.
  std::span<const Place> Find(const Module& module, MemoryRegion deleted_file,
                              std::span<const uint64_t> offsets, bool* may_open_file);

 private:
  // The memory of a process, or a file.
  struct Source {
    base::Process process;
    int file = -1;

    // Returns the number of bytes that could be read.
    size_t Read(uint64_t place, void* destination, size_t size_bytes) const;
    bool ReadAll(uint64_t place, void* destination, size_t size_bytes) const {
      return Read(place, destination, size_bytes) == size_bytes;
    }
  };
  struct SymbolTable {
    uint64_t symbols = 0;
    uint64_t symbol_count = 0;
    uint64_t names = 0;
    uint64_t names_size_bytes = 0;
  };

  bool FindDynamicTable(const Module& module, SymbolTable* table) const;
  uint64_t CountDynamicSymbols(const Source& memory, uint64_t gnu_hash, uint64_t hash) const;
  bool FindFileTable(const Source& file, SymbolTable* table) const;
  void FindSignalFrames(const Module& module);
  void Search(const Source& source, const SymbolTable& table);
  struct Symbol;  // of ELF
  void Consider(const Source& source, const SymbolTable& table, const Symbol& symbol);
  bool HasUnnamed() const;
  std::span<Place> places() { return {places_.get(), place_count_}; }

  base::MappedBlock<Place> places_;
  size_t place_count_ = 0;
  base::MappedBlock<char> chunk_;
};

}  // namespace lagwatch::stack
