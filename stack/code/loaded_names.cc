// SPDX-License-Identifier: Apache-2.0
#include "stack/code/loaded_names.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "base/process/own_memory.h"
#include "base/process/regular_file.h"
#include "stack/elf/build_id_note.h"
#include "stack/elf/dynamic_tables.h"
#include "stack/elf/function_symbol.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kChunkBytes = 64 * 1024;
// 96 MiB, which takes some 20 ms to search.
constexpr uint64_t kMaxSymbols = 4 << 20;

// Whether the file is the build that was loaded; without a build id, the very file.
template <typename Read>
bool IsBuildOf(const Module& module, const struct stat& status, Read read) {
  if (module.build_id_size == 0) return status.st_ino == module.inode;
  Elf64_Ehdr elf;
  if (!read(0, &elf, sizeof elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (size_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(elf.e_phoff + i * sizeof segment, &segment, sizeof segment)) return false;
    if (segment.p_type != PT_NOTE) continue;
    const auto note = FindBuildIdNote(segment.p_offset, segment.p_filesz, read);
    if (!note) continue;
    unsigned char build_id[Module::kMaxBuildIdBytes];
    const size_t size = std::min<size_t>(note->size_bytes, sizeof build_id);
    return size == module.build_id_size && read(note->place, build_id, size) &&
           std::memcmp(build_id, module.build_id, size) == 0;
  }
  return false;
}

class ModulePath {
 public:
  // "/proc/4711/LEAF"
  ModulePath(const base::Process& process, const char* leaf, std::string_view rest = "") {
    std::snprintf(text_, sizeof text_, "%s%.*s", base::ProcessPath(process, leaf).c_str(),
                  static_cast<int>(rest.size()), rest.data());
  }
  // "/proc/4711/map_files/7f12…-7f13…"
  ModulePath(const base::Process& process, MemoryRegion mapping) {
    std::snprintf(text_, sizeof text_, "%s/%" PRIx64 "-%" PRIx64,
                  base::ProcessPath(process, "map_files").c_str(), mapping.begin, mapping.end);
  }
  const char* c_str() const { return text_; }

 private:
  char text_[Module::kMaxPathBytes + 64];
};

// A descriptor of the module's file, as its process has it.
base::OwnedFd OpenLoadedFile(const Module& module, MemoryRegion deleted_file) {
  const auto open_build = [&](const ModulePath& path) {
    struct stat status {};
    base::OwnedFd file(base::OpenRegularFile(path.c_str(), &status));
    const auto read = [&](uint64_t place, void* destination, size_t size_bytes) {
      return pread(file.get(), destination, size_bytes, static_cast<off_t>(place)) ==
             static_cast<ssize_t>(size_bytes);
    };
    return file && IsBuildOf(module, status, read) ? std::move(file) : base::OwnedFd();
  };
  const bool is_deleted = deleted_file.end != 0;
  if (!is_deleted) return open_build({module.process, "root", module.path_view()});
  if (auto program = open_build({module.process, "exe"})) return program;
  return open_build({module.process, deleted_file});
}

}  // namespace

struct LoadedNames::Symbol {
  const Elf64_Sym& elf;
};

LoadedNames::LoadedNames()
    : places_(base::MapOwnBlock<Place>(kMaxPlaces)), chunk_(base::MapOwnBlock<char>(kChunkBytes)) {}

bool LoadedNames::IsElsewhere(const Module& module) {
  if (module.build_id_size == 0) return true;
  char path[Module::kMaxPathBytes + 1];
  path[module.path_view().copy(path, Module::kMaxPathBytes)] = '\0';
  struct stat status {};
  return stat(path, &status) != 0 || status.st_ino != module.inode;
}

size_t LoadedNames::Source::Read(uint64_t place, void* destination, size_t size_bytes) const {
  if (file < 0) return process.Read(place, destination, size_bytes);
  const ssize_t got = pread(file, destination, size_bytes, static_cast<off_t>(place));
  return got < 0 ? 0 : static_cast<size_t>(got);
}

std::span<const LoadedNames::Place> LoadedNames::Find(const Module& module, MemoryRegion deleted_file,
                                                      std::span<const uint64_t> offsets,
                                                      bool* may_open_file) {
  place_count_ = 0;
  if (places_ == nullptr || chunk_ == nullptr) return {};
  for (uint64_t offset : offsets.first(std::min(offsets.size(), kMaxPlaces))) {
    Place& place = places_[place_count_++];
    place.offset = offset;
    place.rank = 0;
    place.name_size = 0;
  }
  std::ranges::sort(places(), {}, &Place::offset);
  FindSignalFrames(module);
  SymbolTable table;
  if (FindDynamicTable(module, &table)) Search({module.process}, table);
  if (!module.IsStillLoaded()) return {};
  if (!HasUnnamed() || !*may_open_file) return places();
  *may_open_file = false;
  const base::OwnedFd file = OpenLoadedFile(module, deleted_file);
  table = {};
  if (file && FindFileTable({module.process, file.get()}, &table))
    Search({module.process, file.get()}, table);
  return places();
}

bool LoadedNames::HasUnnamed() const {
  return std::any_of(places_.get(), places_.get() + place_count_,
                     [](const Place& place) { return place.name_size == 0; });
}

// No call leads there: such a frame is the byte before the code that a handler returns to.
void LoadedNames::FindSignalFrames(const Module& module) {
  for (Place& place : places()) {
    char code[std::max(kSignalReturnX86.size(), kSignalReturnArm.size())];
    const size_t got = module.process.Read(module.load_bias + place.offset + 1, code, sizeof code);
    const std::string_view found(code, got);
    if (!found.starts_with(kSignalReturnX86) && !found.starts_with(kSignalReturnArm)) continue;
    place.begin = place.end = UINT64_MAX;  // nothing comes before it
    place.rank = 1;
    place.name_size =
        static_cast<uint16_t>(std::string_view(kSignalFrameName).copy(place.name, kMaxNameBytes));
  }
}

bool LoadedNames::FindDynamicTable(const Module& module, SymbolTable* table) const {
  const Source memory{module.process};
  DynamicTables found;
  const auto read = [&](uint64_t address, void* destination, size_t size_bytes) {
    return memory.ReadAll(address, destination, size_bytes);
  };
  if (!ReadDynamicTables(module.base, module.load_bias, read, &found)) return false;
  *table = {found.symbols, CountDynamicSymbols(memory, found.gnu_hash, found.hash), found.names,
            found.names_size_bytes};
  return found.symbols != 0 && found.names != 0;
}

// Only the hash tables say it: the one of the ABI by its size, GNU's by the chain that begins last.
uint64_t LoadedNames::CountDynamicSymbols(const Source& memory, uint64_t gnu_hash, uint64_t hash) const {
  if (uint32_t counts[2]; hash != 0 && memory.ReadAll(hash, counts, sizeof counts))
    return std::min<uint64_t>(counts[1], kMaxSymbols);
  GnuHashHeader header;
  if (gnu_hash == 0 || !memory.ReadAll(gnu_hash, &header, sizeof header)) return 0;
  auto* const entries = reinterpret_cast<uint32_t*>(chunk_.get());
  constexpr uint64_t kMostEntries = kChunkBytes / sizeof(uint32_t);
  uint32_t last_chain = 0;
  for (uint64_t done = 0; done < std::min<uint64_t>(header.bucket_count, kMaxSymbols);) {
    const uint64_t count = std::min(kMostEntries, header.bucket_count - done);
    if (!memory.ReadAll(header.Buckets(gnu_hash) + done * sizeof *entries, entries, count * sizeof *entries))
      return 0;
    last_chain = std::max(last_chain, *std::max_element(entries, entries + count));
    done += count;
  }
  if (last_chain < header.first_symbol) return 0;
  constexpr uint64_t kPiece = 64;  // chains are short
  for (uint64_t index = last_chain; index < kMaxSymbols; index += kPiece) {
    const uint64_t place = header.Chains(gnu_hash) + (index - header.first_symbol) * sizeof *entries;
    const size_t got = memory.Read(place, entries, kPiece * sizeof *entries) / sizeof *entries;
    const auto* const end = std::find_if(entries, entries + got, [](uint32_t entry) { return entry & 1; });
    if (end != entries + got) return index + static_cast<uint64_t>(end - entries) + 1;
    if (got < kPiece) break;
  }
  return 0;
}

bool LoadedNames::FindFileTable(const Source& file, SymbolTable* table) const {
  Elf64_Ehdr elf;
  if (!file.ReadAll(0, &elf, sizeof elf) || elf.e_ident[EI_CLASS] != ELFCLASS64) return false;
  Elf64_Shdr symbols{};
  constexpr uint16_t kMaxSections = 1024;
  for (size_t i = 0; i < std::min(elf.e_shnum, kMaxSections) && symbols.sh_type != SHT_SYMTAB; ++i) {
    if (!file.ReadAll(elf.e_shoff + i * sizeof symbols, &symbols, sizeof symbols)) return false;
  }
  Elf64_Shdr names{};
  const bool is_found = symbols.sh_type == SHT_SYMTAB && symbols.sh_link < elf.e_shnum &&
                        file.ReadAll(elf.e_shoff + symbols.sh_link * sizeof names, &names, sizeof names);
  if (!is_found) return false;
  *table = {symbols.sh_offset, std::min(symbols.sh_size / sizeof(Elf64_Sym), kMaxSymbols), names.sh_offset,
            names.sh_size};
  return true;
}

void LoadedNames::Search(const Source& source, const SymbolTable& table) {
  const std::span symbols(reinterpret_cast<Elf64_Sym*>(chunk_.get()), kChunkBytes / sizeof(Elf64_Sym));
  for (uint64_t done = 0; done < table.symbol_count;) {
    const uint64_t wanted = std::min<uint64_t>(symbols.size(), table.symbol_count - done);
    const size_t got =
        source.Read(table.symbols + done * sizeof symbols[0], symbols.data(), wanted * sizeof symbols[0]) /
        sizeof symbols[0];
    for (const Elf64_Sym& symbol : symbols.first(got)) {
      if (symbol.st_name != 0 && symbol.st_name < table.names_size_bytes && IsDefinedFunction(symbol))
        Consider(source, table, {symbol});
    }
    if (got < wanted) return;
    done += got;
  }
}

// As FunctionTable::NameAt(): the innermost function, and of several names of it the first in order.
void LoadedNames::Consider(const Source& source, const SymbolTable& table, const Symbol& one) {
  const Elf64_Sym& symbol = one.elf;
  const uint64_t begin = symbol.st_value;
  const uint64_t end = begin + std::min(symbol.st_size, UINT64_MAX - begin);
  const auto rank = static_cast<uint8_t>(RankOf(symbol) + 1);
  auto place = std::ranges::lower_bound(places(), begin, {}, &Place::offset);
  for (; place != places().end() && (place->offset < end || place->offset == begin); ++place) {
    const auto order = [](uint64_t first, uint8_t by_rank, uint64_t last) {
      return std::tuple(~first, by_rank, ~last);
    };
    const bool is_named = place->rank != 0;
    if (is_named && order(begin, rank, end) > order(place->begin, place->rank, place->end)) continue;
    char name[kMaxNameBytes];
    const uint64_t most = std::min<uint64_t>(sizeof name, table.names_size_bytes - symbol.st_name);
    const size_t got = source.Read(table.names + symbol.st_name, name, most);
    const size_t whole = strnlen(name, got);
    if (whole == got || whole == 0) continue;  // it has no end, or is too long
    const std::string_view text = WithoutVersion({name, whole});
    const bool is_alias = is_named && order(begin, rank, end) == order(place->begin, place->rank, place->end);
    if (is_alias && place->name_view() <= text) continue;
    place->begin = begin;
    place->end = end;
    place->rank = rank;
    place->name_size = static_cast<uint16_t>(text.copy(place->name, sizeof place->name));
  }
}

}  // namespace lagwatch::stack
