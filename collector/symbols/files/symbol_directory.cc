// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <filesystem>

#include "collector/symbols/elf/macho_image.h"
#include "collector/symbols/files/symbol_source.h"

namespace lagwatch::collector {
namespace {

namespace fs = std::filesystem;

// O_NONBLOCK, because a path may name a pipe.
base::OwnedFd OpenToRead(const std::string& path) {
  return base::OwnedFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

bool IsModule(const base::OwnedFd& file) {
  char magic[4];
  if (file && IsMachO(file.get())) return true;
  return file && pread(file.get(), magic, sizeof magic, 0) == sizeof magic &&
         std::string_view(magic, sizeof magic) == "\177ELF";
}

}  // namespace

base::Result<std::unique_ptr<SymbolDirectory>> SymbolDirectory::Open(std::string path, WorkerPool* pool) {
  std::unique_ptr<SymbolDirectory> directory(new SymbolDirectory(std::move(path)));
  std::error_code error;
  fs::recursive_directory_iterator entry(directory->path_, fs::directory_options::skip_permission_denied,
                                         error);
  if (error) {
    return Status(StatusCode::kIo, "cannot read the directory of symbols " + directory->path_ + ": " +
                                       error.message() + "; see --symbols-dir");
  }
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename() == ".build-id") entry.disable_recursion_pending();
    if (!entry->is_regular_file(ignored)) continue;
    base::OwnedFd file = OpenToRead(entry->path());
    if (!IsModule(file)) continue;
    auto facts = pool->Inspect(file.get());
    if (!facts.ok() && facts.status().code() == StatusCode::kUnavailable) return facts.status();
    if (!facts.ok() || !facts->has_symbols) continue;
    if (auto id = BuildId::FromBytes(facts->build_id)) directory->files_[*id].push_back(entry->path());
  }
  return directory;
}

base::OwnedFd SymbolDirectory::OpenFile(const BuildId& build_id, SymbolKind kind) {
  if (kind == SymbolKind::kMapping) return {};
  const std::string by_id = path_ + "/.build-id/" + build_id.path();
  if (base::OwnedFd file = OpenToRead(kind == SymbolKind::kDebug ? by_id + ".debug" : by_id)) return file;
  auto found = files_.find(build_id);
  // The reader finds out which of them has DWARF: the first stands for the debug file, the second
  // for the other.
  const size_t wanted = kind == SymbolKind::kDebug ? 0 : 1;
  if (found == files_.end() || found->second.size() <= wanted) return {};
  return OpenToRead(found->second[wanted]);
}

}  // namespace lagwatch::collector
