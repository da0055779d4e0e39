// SPDX-License-Identifier: Apache-2.0
#include "stack/local_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

namespace lagwatch::stack {
namespace {

constexpr uint64_t kMaxSectionBytes = 256 << 20;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxTables = 64;
constexpr size_t kMaxTableBytes = 64 << 20;

constexpr unsigned char kHostByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// "/usr/lib/debug/.build-id/ab/cdef….debug"
std::string DebugFilePath(std::string_view build_id) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  std::string path = "/usr/lib/debug/.build-id/";
  for (size_t i = 0; i < build_id.size(); ++i) {
    if (i == 1) path += '/';
    path += kHexDigits[static_cast<unsigned char>(build_id[i]) >> 4];
    path += kHexDigits[build_id[i] & 0x0f];
  }
  return path + ".debug";
}

uint8_t RankOf(const Elf64_Sym& symbol) {
  constexpr uint8_t kSizeUnknown = 3;  // any with a size comes first
  uint8_t rank = symbol.st_size == 0 ? kSizeUnknown : 0;
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return rank;
    case STB_LOCAL:
      return rank + 1;
    default:
      return rank + 2;
  }
}

bool IsDefinedFunction(const Elf64_Sym& symbol) {
  int type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF;
}

}  // namespace

// An ELF file with a section table, of this machine's word size and byte order.
class ElfFile {
 public:
  static std::optional<ElfFile> Open(const std::string& path) {
    ElfFile file;
    // O_NONBLOCK, because a path in a spool of another program's may name a pipe.
    file.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (file.fd_ < 0 || fstat(file.fd_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    file.size_bytes_ = static_cast<uint64_t>(status.st_size);
    if (!file.ReadSections()) return std::nullopt;
    return file;
  }
  ElfFile(ElfFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        size_bytes_(other.size_bytes_),
        sections_(std::move(other.sections_)) {}
  ElfFile& operator=(ElfFile&&) = delete;
  ~ElfFile() {
    if (fd_ >= 0) close(fd_);
  }

  // Raw bytes; empty when it has none.
  std::string BuildId() const {
    for (const Elf64_Shdr& section : sections_) {
      std::string notes;
      if (section.sh_type != SHT_NOTE || !ReadSection(section, &notes)) continue;
      if (std::string id = BuildIdIn(notes); !id.empty()) return id;
    }
    return {};
  }

  // Fills `table` from the section of `section_type`; false when there is none that can be read.
  bool ReadFunctions(uint32_t section_type, FunctionTable* table) const {
    for (const Elf64_Shdr& section : sections_) {
      std::string symbols;
      if (section.sh_type != section_type || section.sh_link >= sections_.size()) continue;
      const Elf64_Shdr& names = sections_[section.sh_link];
      if (!ReadSection(section, &symbols) || !ReadSection(names, &table->names_)) continue;
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
        bool has_name = symbol.st_name != 0 && symbol.st_name < table->names_.size();
        if (!has_name || !IsDefinedFunction(symbol)) continue;
        uint64_t end = symbol.st_value + std::min(symbol.st_size, UINT64_MAX - symbol.st_value);
        table->functions_.push_back({symbol.st_value, end, end, symbol.st_name, RankOf(symbol)});
      }
      table->Sort();
      return true;
    }
    return false;
  }

 private:
  ElfFile() = default;

  bool ReadSections() {
    Elf64_Ehdr header;
    if (!ReadAt(0, &header, sizeof header)) return false;
    bool is_native = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                     header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == kHostByteOrder &&
                     header.e_shentsize == sizeof(Elf64_Shdr);
    if (!is_native) return false;
    sections_.resize(header.e_shnum);
    return ReadAt(header.e_shoff, sections_.data(), sections_.size() * sizeof sections_[0]);
  }

  bool ReadSection(const Elf64_Shdr& section, std::string* content) const {
    uint64_t limit_bytes = std::min(size_bytes_, kMaxSectionBytes);
    if (section.sh_type == SHT_NOBITS || section.sh_size > limit_bytes) return false;
    content->resize(section.sh_size);
    return ReadAt(section.sh_offset, content->data(), content->size());
  }

  bool ReadAt(uint64_t offset, void* destination, size_t size_bytes) const {
    if (offset > size_bytes_ || size_bytes > size_bytes_ - offset) return false;
    ssize_t got = pread(fd_, destination, size_bytes, static_cast<off_t>(offset));
    return got >= 0 && static_cast<size_t>(got) == size_bytes;
  }

  static std::string BuildIdIn(std::string_view notes) {
    auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
    Elf64_Nhdr note;
    while (notes.size() >= sizeof note) {
      std::memcpy(&note, notes.data(), sizeof note);
      notes.remove_prefix(sizeof note);
      uint64_t description = padded(note.n_namesz);
      if (description + note.n_descsz > notes.size()) break;
      bool is_build_id =
          note.n_type == NT_GNU_BUILD_ID && notes.substr(0, note.n_namesz) == std::string_view("GNU", 4);
      if (is_build_id) return std::string(notes.substr(description, note.n_descsz));
      notes.remove_prefix(std::min<uint64_t>(description + padded(note.n_descsz), notes.size()));
    }
    return {};
  }

  int fd_ = -1;
  uint64_t size_bytes_ = 0;
  std::vector<Elf64_Shdr> sections_;
};

FunctionTable FunctionTable::Load(const std::string& module_path, std::string_view build_id) {
  FunctionTable table;
  auto module = ElfFile::Open(module_path);
  if (!module || module->BuildId() != build_id) return table;
  if (module->ReadFunctions(SHT_SYMTAB, &table)) return table;
  if (!build_id.empty()) {
    auto debug_file = ElfFile::Open(DebugFilePath(build_id));
    bool is_its_own = debug_file && debug_file->BuildId() == build_id;
    if (is_its_own && debug_file->ReadFunctions(SHT_SYMTAB, &table)) return table;
  }
  module->ReadFunctions(SHT_DYNSYM, &table);
  return table;
}

std::string_view FunctionTable::NameOf(const Function& function) const {
  const char* name = names_.c_str() + function.name;
  return {name, strnlen(name, kMaxNameBytes + 1)};
}

void FunctionTable::Sort() {
  auto key = [](const Function& function) {
    return std::tuple(function.begin, function.rank, ~function.end);
  };
  std::sort(functions_.begin(), functions_.end(), [&](const Function& a, const Function& b) {
    return key(a) == key(b) ? NameOf(a) < NameOf(b) : key(a) < key(b);
  });
  auto same_begin = [](const Function& a, const Function& b) { return a.begin == b.begin; };
  functions_.erase(std::unique(functions_.begin(), functions_.end(), same_begin), functions_.end());
  functions_.shrink_to_fit();
  uint64_t reach = 0;
  for (Function& function : functions_) function.reach = reach = std::max(reach, function.end);
}

std::optional<std::string> FunctionTable::NameAt(uint64_t offset) const {
  auto after =
      std::upper_bound(functions_.begin(), functions_.end(), offset,
                       [](uint64_t place, const Function& function) { return place < function.begin; });
  while (after != functions_.begin()) {
    const Function& function = *--after;
    if (offset < function.end || offset == function.begin) {
      std::string_view name = NameOf(function);
      if (name.size() > kMaxNameBytes) return std::nullopt;
      // A symbol's version is no part of its name.
      return std::string(name.substr(0, name.find('@', 1)));
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
  auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
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
  for (const Entry& entry : entries_) size_bytes += entry.table.size_bytes();
  while (entries_.size() > 1 && (entries_.size() > kMaxTables || size_bytes > kMaxTableBytes)) {
    size_bytes -= entries_.back().table.size_bytes();
    entries_.pop_back();
  }
}

}  // namespace lagwatch::stack
