// SPDX-License-Identifier: Apache-2.0
// Names of functions from the symbol tables of the files on this machine: .symtab of the module, or of its
// separate debug file under /usr/lib/debug/.build-id, else .dynsym and the mini debug information together.
// A file that shrinks or is damaged yields no name, never a fault.
// Context: background. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::stack {

class ElfFile;
struct ElfSection;

// The functions of one module, for looking up by offset.
class FunctionTable {
 public:
  // `module_path`'s functions; an empty table when the file is gone or its build id is not `build_id`.
  static FunctionTable Load(const std::string& module_path, std::string_view build_id);

  // The function that covers `offset`, the innermost where several do. Of several names at one address, a
  // global one is taken before a local before a weak one.
  std::optional<std::string> NameAt(uint64_t offset) const;
  size_t size_bytes() const { return functions_.size() * sizeof functions_[0] + names_.size(); }

 private:
  struct SymbolRange {
    uint64_t begin;
    uint64_t end;    // equal to begin when the size is not known
    uint64_t reach;  // the largest end of this and all earlier functions
    uint32_t name;   // where in names_
    uint8_t rank;    // of equals the lowest is taken
  };

  // Appends the functions of the symbol table of `section_type`; false when it cannot be read.
  bool Add(const std::optional<ElfFile>& file, uint32_t section_type);
  // Finds by its code, if no symbol says it, what signals' handlers return to.
  void AddSignalReturn(const std::optional<ElfSection>& text);
  void Sort();
  std::string_view NameOf(const SymbolRange& function) const;

  uint64_t signal_return_ = 0;          // address that signals' handlers return to; 0: not in this module
  std::vector<SymbolRange> functions_;  // ascending
  std::string names_;                   // the string tables: names end with NUL
};

class LocalSymbols {
 public:
  // The name, as in the symbol table (mangled), of the function at `offset` (in the module's own address
  // space) of the file `path`. None when the file is not there any more, has another build id (raw bytes), or
  // names nothing there. Tables are kept, the last used ones, up to some 64 MiB.
  std::optional<std::string> NameOf(const std::string& path, std::string_view build_id, uint64_t offset);

 private:
  struct OpenFile {
    std::string path;
    std::string build_id;
    FunctionTable table;
  };

  const FunctionTable& TableOf(const std::string& path, std::string_view build_id);
  void DropOldTables();

  std::list<OpenFile> entries_;  // last used first
};

}  // namespace lagwatch::stack
