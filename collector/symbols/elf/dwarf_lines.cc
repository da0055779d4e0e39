// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/dwarf_lines.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace lagwatch::collector {
namespace {

constexpr int kMaxDepth = 256;  // of DIEs in each other
constexpr size_t kMaxScopeBytes = 1024;
constexpr int kMaxUnits = 16;  // that wait for each other's declarations

bool IsBlock(int tag) {
  return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
         tag == DW_TAG_with_stmt;
}

// Whether an entry with this tag may contain functions.
bool HoldsFunctions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_subprogram || IsBlock(tag);
}

std::string TextOf(const char* text) { return text != nullptr ? text : ""; }

std::string AttributeText(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute value;
  return TextOf(dwarf_formstring(dwarf_attr_integrate(die, attribute, &value)));
}

// The begin of a function: the part that holds `offset` may be one that the compiler moved away (main.cold).
uint64_t EntryOf(Dwarf_Die* function, uint64_t offset) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  return dwarf_ranges(function, 0, &base, &begin, &end) > 0 ? begin : offset;
}

// The declaration of a definition or an inlined call.
Dwarf_Die DeclarationOf(Dwarf_Die die) {
  for (int steps = 0; steps < kMaxDepth; ++steps) {
    Dwarf_Attribute reference;
    Dwarf_Die origin;
    bool has_origin = dwarf_attr(&die, DW_AT_abstract_origin, &reference) != nullptr ||
                      dwarf_attr(&die, DW_AT_specification, &reference) != nullptr;
    if (!has_origin || dwarf_formref_die(&reference, &origin) == nullptr) break;
    die = origin;
  }
  return die;
}

bool HasFunction(Dwarf_Die* parent, std::string_view name) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return false;
  do {
    if (dwarf_tag(&child) == DW_TAG_subprogram && AttributeText(&child, DW_AT_name) == name) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

// As demanglers call what has no name of its own.
std::string NameOfNameless(Dwarf_Die* die) {
  if (dwarf_tag(die) == DW_TAG_namespace) return "(anonymous namespace)";
  return HasFunction(die, "operator()") ? "{lambda}" : "(anonymous)";
}

// The scope of the contents of `die`, which itself is in `scope`.
std::string InnerScope(const std::string& scope, Dwarf_Die* die) {
  const int tag = dwarf_tag(die);
  if (IsBlock(tag) || scope.size() > kMaxScopeBytes) return scope;
  std::string name = AttributeText(die, DW_AT_name);
  if (name.empty()) name = NameOfNameless(die);
  return scope.empty() ? name : scope + "::" + name;
}

struct SourcePlace {
  std::string file;
  uint32_t line = 0;
};

// From the compiler's working directory, if the unit says which that was; without "." and "..".
std::string WholePath(Dwarf_Die* unit, const char* file) {
  if (file == nullptr || *file == '\0') return {};
  return (std::filesystem::path(AttributeText(unit, DW_AT_comp_dir)) / file).lexically_normal();
}

SourcePlace PlaceOf(Dwarf_Die* unit, uint64_t offset) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, offset);
  int number = 0;
  if (line == nullptr || dwarf_lineno(line, &number) != 0 || number < 0) return {};
  return {WholePath(unit, dwarf_linesrc(line, nullptr, nullptr)), static_cast<uint32_t>(number)};
}

Dwarf_Die UnitDieOf(Dwarf_Die* die) {
  Dwarf_Die unit;
  dwarf_diecu(die, &unit, nullptr, nullptr);
  return unit;
}

// `unit` has the compiler's directory.
// Line tables alone (-g1) have inlined calls without their namespaces; the header is the C++ library's own.
bool IsOfStandardLibrary(std::string_view name, std::string_view file) {
  constexpr std::string_view kHeaders = "/include/c++/";
  const bool is_qualified = name.find("::") != std::string_view::npos || name.starts_with("_Z");
  return !name.empty() && !is_qualified && file.find(kHeaders) != std::string_view::npos;
}

SourcePlace CallSite(Dwarf_Die* unit, Dwarf_Die* inlined) {
  SourcePlace place;
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0) {
    place.line = static_cast<uint32_t>(std::min<Dwarf_Word>(value, UINT32_MAX));
  }
  Dwarf_Die files_unit = UnitDieOf(inlined);
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
      dwarf_getsrcfiles(&files_unit, &files, &count) == 0 && value < count) {
    place.file = WholePath(unit, dwarf_filesrc(files, value, nullptr, nullptr));
  }
  return place;
}

// The child of `parent` that is a call inlined at `offset`, in a block or directly.
bool FindInlined(Dwarf_Die* parent, uint64_t offset, int depth, Dwarf_Die* found) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(parent, &child) != 0) return false;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, offset) > 0) {
      *found = child;
      return true;
    }
    // A block without ranges may hold calls that have some.
    if (IsBlock(tag) && dwarf_haspc(&child, offset) != 0 && FindInlined(&child, offset, depth + 1, found))
      return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

std::vector<std::pair<uint64_t, uint64_t>> ExecutableSegments(Elf* elf) {
  std::vector<std::pair<uint64_t, uint64_t>> segments;
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    segments.emplace_back(header.p_vaddr, header.p_vaddr + header.p_memsz);
  }
  return segments;
}

}  // namespace

DwarfLines::DwarfLines(Elf* elf, Dwarf* alt, const FunctionSymbols* symbols)
    : dwarf_(dwarf_begin_elf(elf, DWARF_C_READ, nullptr)), symbols_(symbols), code_(ExecutableSegments(elf)) {
  if (!dwarf_) return;
  if (alt != nullptr) dwarf_setalt(dwarf_.get(), alt);
  IndexUnits();
}

void DwarfLines::IndexUnits() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    if (dwarf_tag(&die) == DW_TAG_compile_unit || dwarf_tag(&die) == DW_TAG_skeleton_unit) {
      AddRanges(&die, &unit_ranges_);
    }
  }
  unit_ranges_.Sort();
}

bool DwarfLines::IsCode(uint64_t address) const {
  return code_.empty() || std::any_of(code_.begin(), code_.end(), [address](const auto& segment) {
           return segment.first <= address && address < segment.second;
         });
}

void DwarfLines::AddRanges(Dwarf_Die* die, Ranges* ranges) const {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (ptrdiff_t next = 0; (next = dwarf_ranges(die, next, &base, &begin, &end)) > 0;) {
    if (begin < end && IsCode(begin)) ranges->Add(begin, end, *die);
  }
}

const DwarfLines::Unit& DwarfLines::UnitOf(Dwarf_Die* die) {
  Dwarf_Die top = UnitDieOf(die);
  auto [entry, is_new] = units_.try_emplace(top.addr);
  Unit& unit = entry->second;
  if (is_new) {
    ++units_under_way_;
    AddFunctions(&top, "", 0, &unit);
    --units_under_way_;
    unit.functions.Sort();
  }
  return unit;
}

void DwarfLines::AddFunctions(Dwarf_Die* parent, const std::string& scope, int depth, Unit* unit) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(parent, &child) != 0) return;
  const auto scope_index = static_cast<uint32_t>(unit->scopes.size());
  unit->scopes.push_back(scope);
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      AddRanges(&child, &unit->functions);
      unit->scope_of.emplace(dwarf_dieoffset(&child), scope_index);
    }
    if (HoldsFunctions(tag) && dwarf_haschildren(&child) > 0) {
      AddFunctions(&child, InnerScope(DeclaredScope(child, scope), &child), depth + 1, unit);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::string DwarfLines::DeclaredScope(Dwarf_Die die, const std::string& scope) {
  Dwarf_Die declaration = DeclarationOf(die);
  if (declaration.addr == die.addr || units_under_way_ > kMaxUnits) return scope;
  const Unit& unit = UnitOf(&declaration);
  const auto declared = unit.scope_of.find(dwarf_dieoffset(&declaration));
  return declared == unit.scope_of.end() ? scope : unit.scopes[declared->second];
}

Dwarf_Die DwarfLines::WholeUnit(Dwarf_Die* unit) {
  Dwarf_Die split{};
  uint8_t type = 0;
  if (dwarf_cu_info(unit->cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) != 0) return *unit;
  if (split.addr != nullptr) return split;
  if (type == DW_UT_skeleton && missing_dwo_.empty()) {
    missing_dwo_ = AttributeText(unit, DW_AT_dwo_name);
    if (missing_dwo_.empty()) missing_dwo_ = AttributeText(unit, DW_AT_GNU_dwo_name);
  }
  return *unit;
}

std::vector<Dwarf_Die> DwarfLines::CallsAt(Dwarf_Die* unit, uint64_t offset) {
  std::vector<Dwarf_Die> calls;
  Dwarf_Die whole = WholeUnit(unit);
  const Dwarf_Die* function = UnitOf(&whole).functions.Find(offset);
  if (function == nullptr) return calls;
  Dwarf_Die die = *function;
  do {
    calls.push_back(die);
  } while (calls.size() < kMaxDepth && FindInlined(&calls.back(), offset, 0, &die));
  return calls;
}

std::string DwarfLines::NameOf(Dwarf_Die* function, uint64_t offset) {
  std::string name = AttributeText(function, DW_AT_linkage_name);
  if (name.empty()) name = AttributeText(function, DW_AT_MIPS_linkage_name);
  if (name.empty() && dwarf_tag(function) == DW_TAG_subprogram)
    name = symbols_->NameAt(EntryOf(function, offset));
  return name.empty() ? QualifiedName(function) : name;
}

std::string DwarfLines::QualifiedName(Dwarf_Die* function) {
  Dwarf_Die declaration = DeclarationOf(*function);
  const Unit& unit = UnitOf(&declaration);
  auto scope = unit.scope_of.find(dwarf_dieoffset(&declaration));
  std::string name = AttributeText(function, DW_AT_name);
  if (scope == unit.scope_of.end() || name.empty()) return name;
  const std::string& prefix = unit.scopes[scope->second];
  return prefix.empty() ? name : prefix + "::" + name;
}

std::vector<NamedFrame> DwarfLines::FramesAt(uint64_t offset) {
  std::vector<NamedFrame> frames;
  const Dwarf_Die* found = unit_ranges_.Find(offset);
  if (found == nullptr) return frames;
  Dwarf_Die unit = *found;
  SourcePlace place = PlaceOf(&unit, offset);
  std::vector<Dwarf_Die> calls = CallsAt(&unit, offset);
  if (calls.empty()) return {{symbols_->NameAt(offset), std::move(place.file), place.line}};
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    const bool is_inlined = dwarf_tag(&*call) == DW_TAG_inlined_subroutine;
    std::string name = NameOf(&*call, offset);
    if (is_inlined && IsOfStandardLibrary(name, place.file)) name.insert(0, "std::");
    frames.push_back({std::move(name), std::move(place.file), place.line, is_inlined});
    if (is_inlined) place = CallSite(&unit, &*call);
  }
  return frames;
}

}  // namespace lagwatch::collector
