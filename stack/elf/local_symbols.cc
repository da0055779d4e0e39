// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/local_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "stack/elf/elf_file.h"
#include "stack/elf/function_symbol.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxTables = 64;
constexpr size_t kMaxTableBytes = 64 << 20;

// Functions that a signal's handler returns to. No call leads there, so a stack has the byte before its
// begin.
bool IsSignalReturn(std::string_view name) {
  return name == "__restore_rt" || name == "__restore" || name.starts_with("runtime.sigreturn");
}

bool IsCLibrary(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.") || name.starts_with("libc-2.") || name.starts_with("libpthread") ||
         name.starts_with("ld-musl");
}

}  // namespace

FunctionTable FunctionTable::Load(const std::string& module_path, std::string_view build_id) {
  FunctionTable table;
  auto module = ElfFile::OpenBuild(module_path, build_id);
  bool is_complete = table.Add(module, SHT_SYMTAB) || table.Add(ElfFile::OpenDebugFile(build_id), SHT_SYMTAB);
  if (module && !is_complete) {
    table.Add(module, SHT_DYNSYM);
    table.Add(module->OpenMiniDebugInfo(), SHT_SYMTAB);
  }
  if (module && IsCLibrary(module_path)) table.AddSignalReturn(module->ReadSection(".text"));
  table.Sort();
  return table;
}

bool FunctionTable::Add(const std::optional<ElfFile>& file, uint32_t section_type) {
  auto symbols = file ? file->ReadSection(section_type) : std::nullopt;
  auto names = symbols ? file->ReadSectionAt(symbols->link) : std::nullopt;
  if (!names) return false;
  auto first_name = static_cast<uint32_t>(names_.size());
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->bytes.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols->bytes.data() + at, sizeof symbol);
    bool has_name = symbol.st_name != 0 && symbol.st_name < names->bytes.size();
    if (!has_name || !IsDefinedFunction(symbol)) continue;
    uint64_t end = symbol.st_value + std::min(symbol.st_size, UINT64_MAX - symbol.st_value);
    functions_.push_back({symbol.st_value, end, end, first_name + symbol.st_name, RankOf(symbol)});
    if (IsSignalReturn(names->bytes.c_str() + symbol.st_name)) signal_return_ = symbol.st_value;
  }
  // The last name ends here, even if the file forgot to say so.
  names_.append(names->bytes).push_back('\0');
  return true;
}

void FunctionTable::AddSignalReturn(const std::optional<ElfSection>& text) {
  for (std::string_view code : {kSignalReturnX86, kSignalReturnArm}) {
    if (signal_return_ != 0 || !text) break;
    const size_t at = text->bytes.find(code);
    if (at != std::string::npos) signal_return_ = text->address + at;
  }
}

std::string_view FunctionTable::NameOf(const SymbolRange& function) const {
  const char* name = names_.c_str() + function.name;
  return {name, strnlen(name, kMaxNameBytes + 1)};
}

void FunctionTable::Sort() {
  auto key = [](const SymbolRange& function) {
    return std::tuple(function.begin, function.rank, ~function.end);
  };
  std::sort(functions_.begin(), functions_.end(), [&](const SymbolRange& a, const SymbolRange& b) {
    return key(a) == key(b) ? NameOf(a) < NameOf(b) : key(a) < key(b);
  });
  auto same_begin = [](const SymbolRange& a, const SymbolRange& b) { return a.begin == b.begin; };
  functions_.erase(std::unique(functions_.begin(), functions_.end(), same_begin), functions_.end());
  functions_.shrink_to_fit();
  uint64_t reach = 0;
  for (SymbolRange& function : functions_) function.reach = reach = std::max(reach, function.end);
}

std::optional<std::string> FunctionTable::NameAt(uint64_t offset) const {
  if (signal_return_ != 0 && offset == signal_return_ - 1) return kSignalFrameName;
  auto after =
      std::upper_bound(functions_.begin(), functions_.end(), offset,
                       [](uint64_t place, const SymbolRange& function) { return place < function.begin; });
  while (after != functions_.begin()) {
    const SymbolRange& function = *--after;
    if (offset < function.end || offset == function.begin) {
      std::string_view name = NameOf(function);
      if (name.size() > kMaxNameBytes) return std::nullopt;
      return std::string(WithoutVersion(name));
    }
    if (function.reach <= offset) break;
  }
  return std::nullopt;
}

std::optional<std::string> LocalSymbols::NameOf(const std::string& path, std::string_view build_id,
                                                uint64_t offset) {
  // The kernel's own modules, "[vdso]", are in no file.
  if (!path.starts_with('/')) return std::nullopt;
  return TableOf(path, build_id).NameAt(offset);
}

const FunctionTable& LocalSymbols::TableOf(const std::string& path, std::string_view build_id) {
  auto known = std::find_if(entries_.begin(), entries_.end(), [&](const OpenFile& entry) {
    return entry.path == path && entry.build_id == build_id;
  });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front({path, std::string(build_id), FunctionTable::Load(path, build_id)});
    DropOldTables();
  }
  return entries_.front().table;
}

void LocalSymbols::DropOldTables() {
  size_t size_bytes = 0;
  for (const OpenFile& entry : entries_) size_bytes += entry.table.size_bytes();
  while (entries_.size() > 1 && (entries_.size() > kMaxTables || size_bytes > kMaxTableBytes)) {
    size_bytes -= entries_.back().table.size_bytes();
    entries_.pop_back();
  }
}

}  // namespace lagwatch::stack
