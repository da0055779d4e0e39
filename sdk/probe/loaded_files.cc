// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/modules/module_symbols_linux.h"
#include "base/process/loader_walk.h"
#include "sdk/probe/armed_program.h"
#include "stack/elf/elf_file.h"
#include "stack/elf/function_symbol.h"

namespace lagwatch::sdk {
namespace {

std::string OwnProgramPath() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

struct RoleRow {
  SiteRole role;
  std::string_view function;
  std::string_view module;
};

constexpr RoleRow kRoles[] = {
#define SITE_ROLE(place, function, role, module) {SiteRole::k##role, function, module},
#include "sdk/probe/site_roles.def"
};

using Offsets = std::multimap<std::string, uint64_t, std::less<>>;

void AddRoleFunctions(const std::optional<stack::ElfFile>& file, uint32_t section_type, Offsets* offsets) {
  const auto symbols = file ? file->ReadSection(section_type) : std::nullopt;
  const auto names = symbols ? file->ReadSectionAt(symbols->link) : std::nullopt;
  if (!names) return;
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->bytes.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols->bytes.data() + at, sizeof symbol);
    const bool is_function =
        stack::IsDefinedFunction(symbol) && ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC;
    if (!is_function || symbol.st_name >= names->bytes.size()) continue;
    const std::string_view name = stack::WithoutVersion(names->bytes.c_str() + symbol.st_name);
    if (std::ranges::find(kRoles, name, &RoleRow::function) != std::end(kRoles))
      offsets->emplace(name, symbol.st_value);
  }
}

// As the console looks them up.
Offsets RoleFunctionsOf(const std::string& path, const std::string& build_id) {
  Offsets offsets;
  const auto file = stack::ElfFile::OpenBuild(path, build_id);
  AddRoleFunctions(file, SHT_DYNSYM, &offsets);
  AddRoleFunctions(file, SHT_SYMTAB, &offsets);
  if (!build_id.empty()) AddRoleFunctions(stack::ElfFile::OpenDebugFile(build_id), SHT_SYMTAB, &offsets);
  return offsets;
}

// The function of the name in a loaded file whose code begins at `bias`; 0: it has none. Not by the loader's
// look-up, which waits for a thread that is stuck in dlopen(3).
uint64_t FunctionOf(uint64_t bias, const std::string& name) {
  struct Look {
    uint64_t bias;
    const char* name;
    uint64_t function;
  } look{bias, name.c_str(), 0};
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* asked = static_cast<Look*>(context);
        base::ModuleTables tables;
        if (info->dlpi_addr != asked->bias || !tables.Read(*info)) return 0;
        asked->function = base::FunctionAt(tables, base::FindSymbol(tables, asked->name, nullptr));
        return 1;
      },
      &look);
  return look.function;
}

}  // namespace

LoadedFiles::LoadedFiles() {
  const auto add = [](dl_phdr_info* info, size_t, void* context) {
    auto* files = static_cast<std::vector<File>*>(context);
    File file{.path = info->dlpi_name == nullptr ? "" : info->dlpi_name,
              .build_id = LoadedBuildId(*info),
              .bias = info->dlpi_addr,
              .code = {}};
    for (const auto* header = info->dlpi_phdr; header != info->dlpi_phdr + info->dlpi_phnum; ++header) {
      if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0)
        file.code.emplace_back(file.bias + header->p_vaddr, file.bias + header->p_vaddr + header->p_memsz);
    }
    files->push_back(std::move(file));
    return 0;
  };
  base::WalkLoadedModules(add, &files_);
  if (files_.empty()) return;
  files_.front().is_program = true;
  if (files_.front().path.empty()) files_.front().path = OwnProgramPath();
}

const stack::SdtNote* LoadedFiles::FindNote(File* file, const ProbeSiteAt& site) {
  if (!file->notes) {
    const auto opened = stack::ElfFile::OpenBuild(file->path, file->build_id);
    file->notes = opened ? stack::ReadSdtNotes(*opened) : std::vector<stack::SdtNote>();
  }
  const auto note = std::ranges::find_if(*file->notes, [&](const stack::SdtNote& each) {
    return each.address == site.offset && each.WholeName() == site.symbol;
  });
  return note == file->notes->end() ? nullptr : &*note;
}

bool LoadedFiles::HasRole(File* file, const ProbeSiteAt& site) {
  if (site.role == SiteRole::kNote) return FindNote(file, site) != nullptr;
  const std::string_view file_name = std::string_view(file->path).substr(file->path.rfind('/') + 1);
  if (!file->role_functions) file->role_functions = RoleFunctionsOf(file->path, file->build_id);
  return std::ranges::any_of(kRoles, [&](const RoleRow& row) {
    if (row.role != site.role || !(file->is_program || file_name.starts_with(row.module))) return false;
    const auto [begin, end] = file->role_functions->equal_range(row.function);
    return std::any_of(begin, end, [&](const auto& each) { return each.second == site.offset; });
  });
}

LoadedFiles::File* LoadedFiles::FindFile(const ProbeSiteAt& site) {
  const auto is_it = [&](const File& file) {
    return site.build_id.empty() ? file.build_id.empty() && file.path == site.module
                                 : file.build_id == site.build_id;
  };
  const auto file = std::ranges::find_if(files_, is_it);
  return file == files_.end() ? nullptr : &*file;
}

LoadedFiles::Note LoadedFiles::NoteOf(const ProbeSiteAt& site) {
  File* file = FindFile(site);
  const stack::SdtNote* found = file == nullptr ? nullptr : FindNote(file, site);
  if (found == nullptr) return {};
  Note note{.arguments = found->arguments, .semaphore = {}};
  if (found->semaphore != 0)
    note.semaphore = NoteSemaphores::Place{
        .load_bias = file->bias, .build_id = file->build_id, .offset = found->semaphore};
  return note;
}

uint64_t LoadedFiles::AddressOf(const ProbeSiteAt& site, std::string* why) {
  File* file = FindFile(site);
  if (file == nullptr) {
    *why = "its file is not loaded, or another version of it is";
    return 0;
  }
  uint64_t address = file->bias + site.offset;
  const auto is_code_at = [&](uint64_t place) {
    return std::ranges::any_of(
        file->code, [&](const auto& range) { return range.first <= place && place < range.second; });
  };
  bool is_code = is_code_at(address);
  if (is_code && site.is_chosen_at_load) {
    address = FunctionOf(file->bias, site.symbol);
    is_code = is_code_at(address);
  }
  const bool has_role = is_code && (site.role == SiteRole::kFunction || HasRole(file, site));
  if (has_role) return address;
  *why = is_code ? "it is no function of this place" : "there is no code of its file";
  return 0;
}

uint64_t LoadedFiles::OwnAddressOf(const ProbeSiteAt& site) const {
  const auto own_code = reinterpret_cast<uint64_t>(&RoleFunctionsOf);
  const auto has = [](const File& file, uint64_t address) {
    return std::ranges::any_of(
        file.code, [&](const auto& range) { return range.first <= address && address < range.second; });
  };
  const auto own = std::ranges::find_if(files_, [&](const File& file) { return has(file, own_code); });
  const uint64_t address = own == files_.end() ? 0 : FunctionOf(own->bias, site.symbol);
  return address != 0 && has(*own, address) ? address : 0;
}

}  // namespace lagwatch::sdk
