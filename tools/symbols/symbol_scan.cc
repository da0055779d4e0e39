// SPDX-License-Identifier: Apache-2.0
#include "tools/symbols/symbol_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/owned_fd.h"
#include "collector/symbols/elf/elf_facts.h"

namespace lagwatch::tools {
namespace {

using base::OwnedFd;
using collector::BuildId;
using collector::SymbolKind;
namespace fs = std::filesystem;

bool IsElf(const base::OwnedFd& file) {
  char magic[4];
  return file && pread(file.get(), magic, sizeof magic, 0) == sizeof magic &&
         std::string_view(magic, sizeof magic) == "\177ELF";
}

class Scanner {
 public:
  void Look(const std::string& path) {
    // O_NONBLOCK, because a path may name a pipe.
    base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!IsElf(file) || fstat(file.get(), &status) != 0) return;
    auto facts = collector::ReadElfFacts(file.get());
    if (!facts.ok()) return Skip(path, facts.status().message());
    auto build_id = BuildId::FromBytes(facts->build_id);
    if (!build_id) return Skip(path, "it has no build id; link it with -Wl,--build-id");
    if (!facts->has_dwarf && !facts->has_symbols) {
      return Skip(path, "it is stripped; give the unstripped file or its .debug file");
    }
    const SymbolKind kind =
        facts->has_dwarf || !facts->has_code ? SymbolKind::kDebug : SymbolKind::kExecutable;
    if (!known_.emplace(*build_id, kind).second) return Skip(path, "another file has its build id");
    scan_.files.push_back({path, *std::move(build_id), kind, static_cast<uint64_t>(status.st_size)});
  }

  SymbolScan Take() { return std::move(scan_); }

 private:
  void Skip(const std::string& path, std::string why) { scan_.skipped.push_back({path, std::move(why)}); }

  SymbolScan scan_;
  std::set<std::pair<BuildId, SymbolKind>> known_;
};

void LookBelow(const std::string& directory, Scanner* scanner) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) scanner->Look(entry->path());
  }
}

}  // namespace

base::Result<SymbolScan> ScanForSymbols(const std::vector<std::string>& paths) {
  Scanner scanner;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      LookBelow(path, &scanner);
    } else if (fs::exists(path, error)) {
      scanner.Look(path);
    } else {
      return Status(StatusCode::kNotFound, "no such file or directory: " + path);
    }
  }
  return scanner.Take();
}

}  // namespace lagwatch::tools
