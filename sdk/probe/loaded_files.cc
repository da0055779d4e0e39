// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/process/loader_walk.h"
#include "sdk/probe/armed_program.h"
#include "stack/elf/build_id_note.h"

namespace lagwatch::sdk {
namespace {

std::string OwnProgramPath() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

// Of a loaded module, whose headers and notes are mapped.
std::string BuildIdOf(const dl_phdr_info& info) {
  const auto read = [](uint64_t place, void* to, size_t size) {
    std::memcpy(to, reinterpret_cast<const void*>(place), size);
    return true;
  };
  for (const auto* header = info.dlpi_phdr; header != info.dlpi_phdr + info.dlpi_phnum; ++header) {
    if (header->p_type != PT_NOTE) continue;
    const auto note = stack::FindBuildIdNote(info.dlpi_addr + header->p_vaddr, header->p_memsz, read);
    if (note) return {reinterpret_cast<const char*>(note->place), note->size_bytes};
  }
  return {};
}

}  // namespace

LoadedFiles::LoadedFiles() {
  const auto add = [](dl_phdr_info* info, size_t, void* context) {
    auto* files = static_cast<std::vector<File>*>(context);
    File file{.path = info->dlpi_name == nullptr ? "" : info->dlpi_name,
              .build_id = BuildIdOf(*info),
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
  if (!files_.empty() && files_.front().path.empty()) files_.front().path = OwnProgramPath();
}

uint64_t LoadedFiles::AddressOf(const ProbeSiteAt& site, std::string* why) const {
  const auto is_it = [&](const File& file) {
    return site.build_id.empty() ? file.build_id.empty() && file.path == site.module
                                 : file.build_id == site.build_id;
  };
  const auto file = std::ranges::find_if(files_, is_it);
  if (file == files_.end()) {
    *why = "its file is not loaded, or another version of it is";
    return 0;
  }
  const uint64_t address = file->bias + site.offset;
  const bool is_code = std::ranges::any_of(
      file->code, [&](const auto& range) { return range.first <= address && address < range.second; });
  if (is_code) return address;
  *why = "there is no code of its file";
  return 0;
}

}  // namespace lagwatch::sdk
