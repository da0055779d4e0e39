// SPDX-License-Identifier: Apache-2.0
#include "tools/open/spool_copy.h"

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "collector/symbols/elf/build_id.h"
#include "report/format/report.h"
#include "sdk/run/local_paths.h"
#include "tools/commands.h"
#include "tools/local_symbols/local_modules.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using collector::SymbolKind;

// Files that a process is about to replace may be gone at any moment: they are left out.
base::Status CopyFiles(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  fs::recursive_directory_iterator entry(from, error);
  if (error)
    return {base::StatusCode::kNotFound,
            "cannot read the spool directory " + from.string() + ": " + error.message()};
  fs::permissions(to, fs::perms::owner_all, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path target = to / fs::relative(entry->path(), from, error);
    std::error_code gone;
    if (entry->is_symlink(gone)) continue;
    if (entry->is_directory(gone)) fs::create_directory(target, gone);
    if (entry->is_regular_file(gone)) fs::copy_file(entry->path(), target, gone);
  }
  return error ? base::IoError("cannot copy the spool directory " + from.string(), error.value())
               : base::Status();
}

void Link(const base::OwnedFd& file, const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink("/proc/self/fd/" + std::to_string(file.get()), error);
  fs::create_directories(link.parent_path(), error);
  fs::create_symlink(target, link, error);
}

// The layout of /usr/lib/debug.
void LinkSymbols(const std::map<collector::BuildId, std::string>& modules, const std::string& root,
                 const fs::path& directory) {
  LocalModules files(root);
  for (const auto& [build_id, path] : modules) {
    files.Add(build_id, path);
    const fs::path link = directory / ".build-id" / build_id.path();
    if (const auto debug = files.OpenFile(build_id, SymbolKind::kDebug))
      Link(debug, link.string() + ".debug");
    if (const auto program = files.OpenFile(build_id, SymbolKind::kExecutable)) Link(program, link);
  }
}

}  // namespace

base::Result<SpoolCopy> CopySpool(const std::string& spool, const std::string& directory) {
  const std::string copied = directory + "/spool";
  const fs::path symbols = directory + "/symbols";
  if (base::Status status = CopyFiles(spool, copied); !status.ok()) return status;
  SpoolCopy copy{.batch = LAGWATCH_TRY(LoadSpoolRecords(copied))};
  std::map<collector::BuildId, std::string> modules;
  for (const report::Record& record : LAGWATCH_TRY(report::SplitBatch(copy.batch))) {
    if (record.type != report::RecordType::kReport) continue;
    ++copy.reports;
    const auto report = report::DecodeReport(record.payload);
    if (!report.ok()) continue;
    for (const report::Module& module : report->modules)
      if (const auto id = collector::BuildId::FromBytes(module.build_id)) modules.emplace(*id, module.path);
  }
  std::error_code error;
  fs::create_directories(symbols, error);
  LinkSymbols(modules, sdk::RootOfSpool(spool), symbols);
  return copy;
}

}  // namespace lagwatch::tools
