// SPDX-License-Identifier: Apache-2.0
// Modules and symbols according to the loader and nm, which share no code with stack/local_symbols.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace lagwatch::testing {

// A module as the loader sees it.
struct LoadedModule {
  std::string path;
  std::string build_id;
  uint64_t load_bias = 0;
};

inline std::string BuildIdInMemory(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr);
    for (const char* end = at + segment.p_memsz; at < end;) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* description = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID) return {description, note.n_descsz};
      at = description + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return {};
}

inline LoadedModule ModuleOf(const void* address) {
  struct Search {
    uint64_t address;
    LoadedModule module;
  } search{reinterpret_cast<uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* wanted = static_cast<Search*>(context);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
          if (info->dlpi_phdr[i].p_type != PT_LOAD || wanted->address < begin ||
              wanted->address >= begin + info->dlpi_phdr[i].p_memsz) {
            continue;
          }
          std::string path = *info->dlpi_name != '\0' ? info->dlpi_name : "/proc/self/exe";
          wanted->module = {std::filesystem::canonical(path), BuildIdInMemory(*info), info->dlpi_addr};
          return 1;
        }
        return 0;
      },
      &search);
  return search.module;
}

struct ListedSymbol {
  uint64_t begin;
  uint64_t end;
  std::string name;
};

// The functions of known size in nm's list.
inline std::vector<ListedSymbol> FunctionsByNm(const std::string& options, const std::string& path) {
  FILE* pipe = popen(("nm --defined-only -S " + options + " '" + path + "' 2>/dev/null").c_str(), "r");
  std::string output;
  char piece[65536];
  while (size_t got = fread(piece, 1, sizeof piece, pipe)) output.append(piece, got);
  pclose(pipe);
  std::vector<ListedSymbol> symbols;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    uint64_t begin;
    uint64_t size;
    char type;
    std::string name;
    if (!(fields >> std::hex >> begin >> size >> type >> name) || std::strchr("tTwWi", type) == nullptr)
      continue;
    symbols.push_back({begin, begin + size, name.substr(0, name.find('@', 1))});
  }
  return symbols;
}

}  // namespace lagwatch::testing
