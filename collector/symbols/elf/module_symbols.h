// SPDX-License-Identifier: Apache-2.0
// Looks up places in a module's code in its files. It parses untrusted files: outside of tests it runs in the
// worker only (collector/symbols/worker.h). Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/symbols/elf/dwarf_lines.h"
#include "collector/symbols/elf/elf_handles.h"
#include "collector/symbols/elf/function_symbols.h"
#include "collector/symbols/elf/named_frame.h"

namespace lagwatch::collector {

class ModuleSymbols {
 public:
  // Borrows the files, which must stay open for its lifetime: the executable, its debug file or both, in
  // any order, and the file that dwz put parts of them into (-1: none). Errors: kInvalid when one of `fds`
  // is no ELF file.
  static base::Result<std::unique_ptr<ModuleSymbols>> Open(std::span<const int> fds, int alt_fd);

  // The frames at an offset in the module's own address space, as in its symbol table; innermost first.
  // The offset is taken as it is: reports have a caller's as the byte before its return address already. In a
  // Mach-O file it may also be relative to the file's begin.
  // Without DWARF one frame with a function's name; none when nothing is known of the place.
  std::vector<NamedFrame> FramesAt(uint64_t offset);

  // Names the file that was missing for places that were looked up, for a person; empty: none was.
  std::string note() const;

  // Of the dwz file that is wanted and was not given, raw bytes; empty when there is none.
  const std::string& missing_alt_build_id() const { return missing_alt_build_id_; }

 private:
  ModuleSymbols() = default;

  base::Status AddFile(int fd);
  void LoadSymbols();
  void LoadDwarf(int alt_fd);

  // Borrowers come after what they borrow from.
  ElfHandle alt_elf_;
  DwarfHandle alt_;
  std::list<ElfHandle> elfs_;
  FunctionSymbols symbols_;
  std::list<DwarfLines> dwarfs_;
  std::string missing_alt_build_id_;
  uint64_t text_begin_ = 0;  // of a Mach-O file
};

}  // namespace lagwatch::collector
