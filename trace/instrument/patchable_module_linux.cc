// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/process/safe_memory.h"
#include "stack/elf/build_id_note.h"
#include "stack/elf/elf_file.h"
#include "trace/instrument/patchable_module.h"
#include "trace/instrument/unwind_index.h"

namespace lagwatch::trace {
namespace {

constexpr char kProgramFile[] = "/proc/thread-self/exe";

std::string PathOf(const dl_phdr_info& info) {
  char path[PATH_MAX];
  base::ReadOwnString(reinterpret_cast<uint64_t>(info.dlpi_name), path, sizeof path);
  if (path[0] != '\0') return path;
  const ssize_t size = readlink(kProgramFile, path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

std::string BuildIdOf(const dl_phdr_info& info) {
  const auto read = [](uint64_t place, void* destination, size_t size_bytes) {
    std::memcpy(destination, reinterpret_cast<const void*>(place), size_bytes);
    return true;
  };
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto note = stack::FindBuildIdNote(info.dlpi_addr + segment.p_vaddr, segment.p_memsz, read);
    if (note) return {reinterpret_cast<const char*>(note->place), note->size_bytes};
  }
  return {};
}

// Whether a loaded segment with all of `flags` holds it.
bool IsLoaded(const dl_phdr_info& info, uint64_t address, uint64_t size_bytes, uint32_t flags) {
  return std::any_of(info.dlpi_phdr, info.dlpi_phdr + info.dlpi_phnum, [&](const auto& segment) {
    const CodeView view{info.dlpi_addr + segment.p_vaddr, info.dlpi_addr + segment.p_vaddr + segment.p_memsz};
    return segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags && view.Has(address, size_bytes);
  });
}

}  // namespace

PatchableModule DescribeModule(const dl_phdr_info& info) {
  PatchableModule module;
  module.load_bias = info.dlpi_addr;
  module.path = PathOf(info);
  module.build_id = BuildIdOf(info);
  module.code_begin = UINT64_MAX;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    module.code_begin = std::min<uint64_t>(module.code_begin, info.dlpi_addr + segment.p_vaddr);
    module.code_end = std::max<uint64_t>(module.code_end, info.dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return module;
}

void FindSites(const dl_phdr_info& info, PatchableModule* module) {
  const bool is_program = info.dlpi_name == nullptr || info.dlpi_name[0] == '\0';
  const auto file = stack::ElfFile::OpenBuild(is_program ? kProgramFile : module->path, module->build_id);
  const auto section = file ? file->ReadSection("__patchable_function_entries") : std::nullopt;
  if (!section) return;
  const uint64_t begin = info.dlpi_addr + section->address;
  if (!IsLoaded(info, begin, section->bytes.size(), PF_R)) return;
  const auto* areas = reinterpret_cast<const uint64_t*>(begin);
  const UnwindIndex functions(info);
  const CodeView code{module->code_begin, module->code_end};
  for (size_t i = 0; i < section->bytes.size() / sizeof *areas; ++i) {
    // Sections that the linker has discarded are at 0.
    if (!IsLoaded(info, areas[i], 1, PF_X)) continue;
    module->sites.push_back(FindPatchSite(code, areas[i], functions.AtOrAfter(areas[i])));
  }
  const auto is_before = [](const PatchSite& a, const PatchSite& b) { return a.address < b.address; };
  std::sort(module->sites.begin(), module->sites.end(), is_before);
  const auto is_equal = [](const PatchSite& a, const PatchSite& b) { return a.address == b.address; };
  module->sites.erase(std::unique(module->sites.begin(), module->sites.end(), is_equal), module->sites.end());
}

}  // namespace lagwatch::trace
