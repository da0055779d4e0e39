// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "collector/symbols/files/symbol_source.h"

namespace lagwatch::collector {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBytesOfAnEntry = 4096;  // of its directory

struct CachedBuild {
  fs::path path;
  uint64_t size_bytes = kBytesOfAnEntry;
  int64_t used_s = 0;
};

CachedBuild Measure(const fs::path& path) {
  CachedBuild entry{.path = path};
  std::error_code error;
  for (fs::directory_iterator file(path, error); !error && file != fs::directory_iterator();
       file.increment(error)) {
    struct stat status {};
    if (lstat(file->path().c_str(), &status) != 0) continue;
    entry.size_bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    entry.used_s = std::max<int64_t>({entry.used_s, status.st_atim.tv_sec, status.st_mtim.tv_sec});
  }
  return entry;
}

}  // namespace

uint64_t TrimCacheDirectory(const std::string& directory, const CacheLimits& limits) {
  std::vector<CachedBuild> entries;
  uint64_t total_bytes = 0;
  std::error_code error;
  for (fs::directory_iterator each(directory, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    std::error_code ignored;
    if (!each->is_directory(ignored) || each->is_symlink(ignored)) continue;  // its settings
    entries.push_back(Measure(each->path()));
    total_bytes += entries.back().size_bytes;
  }
  uint64_t left = entries.size();
  if (total_bytes <= limits.total_bytes && left <= limits.entries) return 0;
  std::ranges::sort(entries, {}, &CachedBuild::used_s);
  uint64_t removed = 0;
  for (const CachedBuild& entry : entries) {
    if (total_bytes <= limits.total_bytes / 10 * 9 && left <= limits.entries / 10 * 9) break;
    fs::remove_all(entry.path, error);
    if (error) continue;
    total_bytes -= entry.size_bytes;
    --left;
    ++removed;
  }
  return removed;
}

}  // namespace lagwatch::collector
