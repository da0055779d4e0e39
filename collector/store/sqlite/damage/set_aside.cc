// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/damage/set_aside.h"

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/text.h"
#include "collector/files/small_files.h"

namespace lagwatch::collector {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSalvaged = ".salvaged";
constexpr const char* kReasonFile = "/reason";

std::string AllFolders(const std::string& data) { return data + "/damaged"; }

base::Status ToStatus(const std::error_code& error, const std::string& what) {
  return error ? base::Status(base::StatusCode::kIo, what + ": " + error.message()) : base::Status();
}

bool HasDatabase(const std::string& folder, const std::string& path, std::error_code* error) {
  return fs::exists(fs::path(folder) / fs::path(path).filename(), *error);
}

}  // namespace

std::string NewAsideFolder(const std::string& data) {
  const std::string folder =
      AllFolders(data) + "/" + base::UtcText(base::SystemClock().WallMs(), "%Y-%m-%dT%H%M%SZ");
  std::error_code ignored;
  std::string unused = folder;
  for (int i = 2; fs::exists(unused, ignored); ++i) unused = folder + "-" + std::to_string(i);
  return unused;
}

base::Status MoveDatabase(const std::string& path, const std::string& folder) {
  std::error_code error;
  if (HasDatabase(folder, path, &error)) return {};
  fs::create_directories(folder, error);
  // The database last: a folder that has it has all.
  for (const char* part : {"-shm", "-wal", ""}) {
    const fs::path from = path + part;
    if (!error && fs::exists(from, error)) fs::rename(from, fs::path(folder) / from.filename(), error);
  }
  return ToStatus(error, "cannot move the damaged database " + path + " to " + folder);
}

base::Status FinishMove(const std::string& path) {
  for (const AsideDatabase& aside : ListAside(fs::path(path).parent_path())) {
    std::error_code error;
    const std::string log = fs::path(path).filename().string() + "-wal";
    if (aside.is_salvaged || HasDatabase(aside.folder, path, &error) ||
        !fs::exists(fs::path(aside.folder) / log, error))
      continue;
    // A database that is made later is another one.
    if (!fs::exists(path, error)) return MarkSalvaged(aside, false);
    return MoveDatabase(path, aside.folder);
  }
  return {};
}

base::Status KeepReason(const std::string& folder, const base::Status& damage) {
  // Readers of it need no key: the place of the data is left out.
  std::string reason = damage.message();
  const std::string data = fs::path(folder).parent_path().parent_path().string() + "/";
  for (size_t at = reason.find(data); at != std::string::npos; at = reason.find(data))
    reason.erase(at, data.size());
  return ReplaceFile(folder + kReasonFile, reason);
}

std::vector<AsideDatabase> ListAside(const std::string& data) {
  std::vector<AsideDatabase> all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(AllFolders(data), ignored)) {
    const std::string folder = entry.path();
    AsideDatabase aside{.folder = folder, .is_salvaged = folder.ends_with(kSalvaged)};
    if (base::SystemEnv().ReadAll(folder + kReasonFile, &aside.reason) == 0)
      aside.at_ms = FileStamp::Of(folder + kReasonFile).mtime_ns / base::kNsPerMs;
    all.push_back(std::move(aside));
  }
  std::ranges::sort(all, {}, &AsideDatabase::folder);
  return all;
}

base::Status MarkSalvaged(const AsideDatabase& aside, bool is_removed) {
  std::error_code error;
  if (is_removed) {
    fs::remove_all(aside.folder, error);
    return ToStatus(error, "cannot remove " + aside.folder);
  }
  if (!aside.is_salvaged) fs::rename(aside.folder, aside.folder + std::string(kSalvaged), error);
  return ToStatus(error, "cannot rename " + aside.folder);
}

}  // namespace lagwatch::collector
