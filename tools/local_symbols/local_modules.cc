// SPDX-License-Identifier: Apache-2.0
#include "tools/local_symbols/local_modules.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "base/process/regular_file.h"
#include "stack/elf/elf_file.h"

namespace lagwatch::tools {

using collector::BuildId;
using collector::SymbolKind;

bool LocalModules::Add(const BuildId& build_id, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const std::string& here = local_paths_.Of(path);
  // Others are names of what is no file, such as "[vdso]".
  return here.starts_with('/') && paths_[build_id].insert(here).second;
}

std::string LocalModules::PathOf(const BuildId& build_id) {
  const std::lock_guard lock(mutex_);
  const auto known = paths_.find(build_id);
  return known == paths_.end() ? "" : *known->second.begin();
}

base::OwnedFd LocalModules::OpenFile(const BuildId& build_id, SymbolKind kind) {
  if (kind == SymbolKind::kMapping) return {};
  std::set<std::string> paths;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = paths_.find(build_id); known != paths_.end()) paths = known->second;
  }
  for (const std::string& path : paths) {
    auto file = Open(path, build_id);
    if (!file) continue;
    // A module with debug information needs no other file, and is read once.
    if (kind == SymbolKind::kExecutable) return file->has_dwarf ? base::OwnedFd() : std::move(file->fd);
    if (file->has_dwarf) return std::move(file->fd);
    if (auto debug = OpenDebugFile(build_id, path, file->debug_link)) return debug;
  }
  return kind == SymbolKind::kDebug ? OpenDebugFile(build_id, "", "") : base::OwnedFd();
}

base::OwnedFd LocalModules::OpenDebugFile(const BuildId& build_id, const std::string& path,
                                          const std::string& debug_link) const {
  std::vector<std::string> candidates = {debug_root_ + "/.build-id/" + build_id.path() + ".debug"};
  if (!debug_link.empty()) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
    const std::string directory = error ? "" : whole.parent_path().string();
    for (const std::string& folder : {directory, directory + "/.debug", debug_root_ + directory})
      candidates.push_back(folder + "/" + debug_link);
  }
  for (const std::string& candidate : candidates) {
    auto file = Open(candidate, build_id);
    if (file && file->has_dwarf) return std::move(file->fd);
  }
  return {};
}

std::optional<LocalModules::File> LocalModules::Open(const std::string& path, const BuildId& build_id) {
  struct stat status {};
  File file{.fd = base::OwnedFd(base::OpenRegularFile(path.c_str(), &status))};
  if (!file.fd) return std::nullopt;
  // The very file that was opened.
  const auto elf =
      stack::ElfFile::OpenBuild("/proc/self/fd/" + std::to_string(file.fd.get()), build_id.bytes());
  if (!elf) return std::nullopt;
  file.has_dwarf = elf->HasSection(".debug_info") || elf->HasSection(".zdebug_info");
  // A name, ended by NUL, and a checksum.
  if (const auto link = elf->ReadSection(".gnu_debuglink")) {
    const std::string name = link->bytes.substr(0, link->bytes.find('\0'));
    if (name.find('/') == std::string::npos) file.debug_link = name;
  }
  return file;
}

}  // namespace lagwatch::tools
