// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

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

// The function that the loader has for the name in a loaded file; empty path: the program. 0: it has none.
uint64_t LoadersFunction(const std::string& path, const std::string& name) {
  struct Look {
    const char* path;
    const char* name;
    void* function;
  } look{path.empty() ? nullptr : path.c_str(), name.c_str(), nullptr};
  base::RunBetweenForks(
      [](void* context) {
        auto* asked = static_cast<Look*>(context);
        // The handle of a file that dlopen() has not been asked for has no list of symbols' files yet.
        void* file = dlopen(asked->path, RTLD_LAZY | RTLD_NOLOAD);
        if (file == nullptr) return;
        asked->function = dlsym(file, asked->name);
        dlclose(file);
      },
      &look);
  return reinterpret_cast<uint64_t>(look.function);
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
    address = LoadersFunction(file->is_program ? "" : file->path, site.symbol);
    is_code = is_code_at(address);
  }
  const bool has_role = is_code && (site.role == SiteRole::kFunction || HasRole(file, site));
  if (has_role) return address;
  *why = is_code ? "it is no function of this place" : "there is no code of its file";
  return 0;
}

uint64_t LoadedFiles::OwnAddressOf(const ProbeSiteAt& site) const {
  Dl_info info;
  link_map* own = nullptr;
  if (dladdr1(kRoles, &info, reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) == 0 || own == nullptr)
    return 0;
  const uint64_t address = LoadersFunction(own->l_name, site.symbol);
  const auto is_own = [&](const File& file) {
    return file.bias == own->l_addr && std::ranges::any_of(file.code, [&](const auto& range) {
             return range.first <= address && address < range.second;
           });
  };
  return std::ranges::any_of(files_, is_own) ? address : 0;
}

}  // namespace lagwatch::sdk
