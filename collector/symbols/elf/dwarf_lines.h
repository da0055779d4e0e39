// SPDX-License-Identifier: Apache-2.0
// Functions, inlined calls, files and lines from DWARF, versions 2 to 5, compressed sections included. Units
// that are split are read with their .dwo files where this process may open those (worker/sandbox.h).
// Compilation units are found by their own ranges (clang writes no .debug_aranges), a unit's functions are
// listed when it is first asked about. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/symbols/elf/elf_handles.h"
#include "collector/symbols/elf/function_symbols.h"
#include "collector/symbols/elf/interval_map.h"
#include "collector/symbols/elf/named_frame.h"

namespace lagwatch::collector {

class DwarfLines {
 public:
  // Borrows `elf`, and `alt` if it is not null: what dwz put parts that several files share into. `symbols`,
  // borrowed too, name functions that have no linkage name in DWARF, as those of C have none.
  DwarfLines(Elf* elf, Dwarf* alt, const FunctionSymbols* symbols);

  // The name of a .dwo file that was looked for and not found; empty: none.
  const std::string& missing_dwo() const { return missing_dwo_; }

  // The frames at an offset in the module's own address space, innermost first; none when no unit has it.
  std::vector<NamedFrame> FramesAt(uint64_t offset);

 private:
  using Ranges = IntervalMap<Dwarf_Die>;  // by where their code is
  struct Unit {
    Ranges functions;
    // The scopes of functions, "namespace::Class": an index into scopes. Of declarations, too.
    std::unordered_map<Dwarf_Off, uint32_t> scope_of;
    std::vector<std::string> scopes;
  };

  void IndexUnits();
  // Whether code may be there at all: what the linker dropped has DWARF at address 0 or so.
  bool IsCode(uint64_t address) const;
  void AddRanges(Dwarf_Die* die, Ranges* ranges) const;
  const Unit& UnitOf(Dwarf_Die* die);
  // The unit in the .dwo file of one that is split, if the file is there; else the unit itself.
  Dwarf_Die WholeUnit(Dwarf_Die* unit);
  void AddFunctions(Dwarf_Die* parent, const std::string& scope, int depth, Unit* unit);
  // The scope in which an entry is declared, in whatever unit; `scope` if it is not declared apart.
  std::string DeclaredScope(Dwarf_Die die, const std::string& scope);
  // The function of `unit` around `offset` and the calls inlined into it there, outermost first.
  std::vector<Dwarf_Die> CallsAt(Dwarf_Die* unit, uint64_t offset);
  std::string NameOf(Dwarf_Die* function, uint64_t offset);
  // The name in the source, with namespaces and classes: some compilers give no linkage names to what only
  // one file knows.
  std::string QualifiedName(Dwarf_Die* function);

  DwarfHandle dwarf_;
  std::string missing_dwo_;
  const FunctionSymbols* symbols_;
  std::vector<std::pair<uint64_t, uint64_t>> code_;  // begin and end of executable segments
  Ranges unit_ranges_;
  int units_under_way_ = 0;                      // each for the declarations of the one before
  std::unordered_map<const void*, Unit> units_;  // by the address of their first DIE: .dwo files have offsets
                                                 // of their own
};

}  // namespace lagwatch::collector
