// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/owned_fd.h"
#include "base/process/regular_file.h"
#include "tools/inject/loaded_libraries.h"
#include "tools/inject/process_memory.h"

namespace lagwatch::tools {
namespace {

// A table in the file, or a part of it; empty if the file does not hold it, or is no regular one.
template <typename Entries>
Entries TableIn(const base::OwnedFd& file, uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kMostBytes = 256 << 20;
  using Entry = typename Entries::value_type;
  Entries entries;
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return entries;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (bytes > kMostBytes || offset > size || bytes > size - offset) return entries;
  entries.resize(bytes / sizeof(Entry));
  const size_t wanted = entries.size() * sizeof(Entry);
  if (pread(file.get(), entries.data(), wanted, static_cast<off_t>(offset)) != static_cast<ssize_t>(wanted))
    entries.clear();
  return entries;
}

constexpr std::string_view kMemoryFile = "/memfd:";

// Whether what is mapped at `address` is this file: its first page has the identifier of its build.
bool BeginsLike(pid_t pid, uint64_t address, const std::string& path) {
  constexpr size_t kPageBytes = 4096;
  std::string mapped(kPageBytes, '\0');
  struct stat status {};
  const base::OwnedFd file(base::OpenRegularFile(path.c_str(), &status));
  return ReadMemory(pid, address, mapped.data(), kPageBytes) == kPageBytes &&
         TableIn<std::string>(file, 0, kPageBytes) == mapped;
}

std::string_view FileNameOf(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1);
}

}  // namespace

bool HasLoaded(pid_t pid, std::string_view name_start) {
  return std::ranges::any_of(ReadMappings(pid), [&](const Mapping& mapping) {
    return mapping.path.starts_with('/') && FileNameOf(mapping.path).starts_with(name_start);
  });
}

base::Result<LoadedLibrary> LoadedLibrary::Find(pid_t pid, std::string_view name_start,
                                                const std::string& original) {
  return FindIn(ReadMappings(pid), pid, name_start, original);
}

base::Result<LoadedLibrary> LoadedLibrary::FindIn(const std::vector<Mapping>& mappings, pid_t pid,
                                                  std::string_view name_start, const std::string& original) {
  LoadedLibrary library;
  for (const Mapping& mapping : mappings) {
    if (!mapping.path.starts_with('/')) continue;
    if (library.path_.empty()) {
      if (mapping.offset != 0 || !FileNameOf(mapping.path).starts_with(name_start)) continue;
      library.path_ = mapping.path;
      library.base_ = mapping.begin;
    }
    if (mapping.path == library.path_ && mapping.is_code)
      library.code_.push_back({mapping.begin, mapping.end});
  }
  if (library.path_.empty())
    return base::Status(base::StatusCode::kNotFound, "it has not loaded " + std::string(name_start));
  if (library.path_.starts_with(kMemoryFile)) {
    if (!BeginsLike(pid, library.base_, original) || !library.ReadSymbols(original))
      return base::Status(base::StatusCode::kInvalid, "it has loaded another version of " + original);
    return library;
  }
  const std::string process = "/proc/" + std::to_string(pid);
  if (!library.ReadSymbols(process + "/root" + library.path_) && !library.ReadSymbols(library.path_))
    return base::Status(base::StatusCode::kInvalid, "the symbols of " + library.path_ + " cannot be read");
  return library;
}

bool LoadedLibrary::ReadSymbols(const std::string& path) {
  struct stat status {};
  const base::OwnedFd file(base::OpenRegularFile(path.c_str(), &status));
  const auto headers = TableIn<std::vector<ElfW(Ehdr)>>(file, 0, sizeof(ElfW(Ehdr)));
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_shentsize != sizeof(ElfW(Shdr)))
    return false;
  const auto sections = TableIn<std::vector<ElfW(Shdr)>>(file, headers[0].e_shoff,
                                                         uint64_t{headers[0].e_shnum} * sizeof(ElfW(Shdr)));
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& names = sections[section.sh_link];
    names_ = TableIn<std::string>(file, names.sh_offset, names.sh_size);
    for (const ElfW(Sym) & symbol :
         TableIn<std::vector<ElfW(Sym)>>(file, section.sh_offset, section.sh_size)) {
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
          symbol.st_name >= names_.size())
        continue;
      const uint64_t begin = base_ + symbol.st_value;
      functions_.push_back({symbol.st_name, {begin, begin + symbol.st_size}});
    }
  }
  return !functions_.empty();
}

CodeRange LoadedLibrary::RangeOf(std::string_view function) const {
  const std::string name(function);
  for (const ExportedFunction& known : functions_) {
    if (std::strcmp(names_.c_str() + known.name, name.c_str()) == 0) return known.range;
  }
  return {};
}

bool LoadedLibrary::HoldsCode(uint64_t address) const {
  return std::ranges::any_of(code_, [&](const CodeRange& range) { return range.Holds(address); });
}

}  // namespace lagwatch::tools
