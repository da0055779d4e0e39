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
#include "base/text.h"
#include "collector/symbols/elf/elf_facts.h"
#include "collector/symbols/elf/macho_image.h"
#include "collector/symbols/mapping/mapping_id.h"
#include "collector/symbols/mapping/mapping_reader.h"

namespace lagwatch::tools {
namespace {

using base::OwnedFd;
using collector::BuildId;
using collector::SymbolKind;
namespace fs = std::filesystem;

bool IsModule(const base::OwnedFd& file) {
  char magic[4];
  if (collector::IsMachO(file.get())) return true;
  return pread(file.get(), magic, sizeof magic, 0) == sizeof magic &&
         std::string_view(magic, sizeof magic) == "\177ELF";
}

class Scanner {
 public:
  explicit Scanner(const MappingOwner& owner) : owner_(owner) {}

  // `is_named` if the path itself was given, not a directory above it.
  void Look(const std::string& path, bool is_named) {
    // O_NONBLOCK, because a path may name a pipe.
    base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (IsModule(file)) {
      LookAtModule(path, file, status);
    } else if (is_named || fs::path(path).filename() == "mapping.txt") {
      LookAtMapping(path, file, status);
    }
  }

  base::Result<SymbolScan> Take() {
    if (!problem_.ok()) return problem_;
    return std::move(scan_);
  }

 private:
  void LookAtModule(const std::string& path, const base::OwnedFd& file, const struct stat& status) {
    auto facts = collector::ReadElfFacts(file.get());
    if (!facts.ok()) return Skip(path, facts.status().message());
    auto build_id = BuildId::FromBytes(facts->build_id);
    if (!build_id) return Skip(path, "it has no build id; link it with -Wl,--build-id");
    if (!facts->has_names()) return Skip(path, facts->WhyNoNames());
    const SymbolKind kind =
        facts->has_dwarf || !facts->has_code ? SymbolKind::kDebug : SymbolKind::kExecutable;
    if (!known_.emplace(*build_id, kind).second) return Skip(path, "another file has its build id");
    scan_.files.push_back({.path = path,
                           .build_id = *std::move(build_id),
                           .kind = kind,
                           .size_bytes = static_cast<uint64_t>(status.st_size),
                           .note = facts->note});
  }

  void LookAtMapping(const std::string& path, const base::OwnedFd& file, const struct stat& status) {
    auto mapping = collector::MappingReader::Open(file.get());
    if (!mapping.ok()) return Skip(path, mapping.status().message());
    const std::string map_id((*mapping)->map_id());
    if (owner_.app.empty() && map_id.empty())
      return Skip(path,
                  "it is a mapping without an id of R8; give its app and version, --app and --app-version");
    const bool is_of_app = !owner_.app.empty();
    const std::string id = is_of_app ? collector::MappingIdOfApp(owner_.app, owner_.app_version)
                                     : collector::MappingIdOfMapId(map_id);
    const std::string parameters = is_of_app ? "app=" + base::EscapedForUrl(owner_.app) +
                                                   "&version=" + base::EscapedForUrl(owner_.app_version)
                                             : "map_id=" + base::EscapedForUrl(map_id);
    const auto build_id = *BuildId::FromBytes(id);
    if (!known_.emplace(build_id, SymbolKind::kMapping).second) {
      problem_ =
          Status(StatusCode::kInvalid, "there is another mapping of the same app and version: " + path +
                                           "; name the one to upload");
    }
    scan_.files.push_back(
        {path, build_id, SymbolKind::kMapping, static_cast<uint64_t>(status.st_size), parameters, ""});
  }

  void Skip(const std::string& path, std::string why) { scan_.skipped.push_back({path, std::move(why)}); }

  const MappingOwner& owner_;
  SymbolScan scan_;
  Status problem_;
  std::set<std::pair<BuildId, SymbolKind>> known_;
};

void LookBelow(const std::string& directory, Scanner* scanner) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) scanner->Look(entry->path(), /*is_named=*/false);
  }
}

}  // namespace

base::Result<SymbolScan> ScanForSymbols(const std::vector<std::string>& paths, const MappingOwner& owner) {
  Scanner scanner(owner);
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      LookBelow(path, &scanner);
    } else if (fs::exists(path, error)) {
      scanner.Look(path, /*is_named=*/true);
    } else {
      return Status(StatusCode::kNotFound, "no such file or directory: " + path);
    }
  }
  return scanner.Take();
}

}  // namespace lagwatch::tools
