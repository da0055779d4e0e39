// SPDX-License-Identifier: Apache-2.0
// Places that have symbol files. Context: background. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "collector/symbols/elf/build_id.h"
#include "collector/symbols/files/symbol_files.h"
#include "collector/symbols/worker/worker_pool.h"

namespace lagwatch::collector {

class SymbolSource {
 public:
  virtual ~SymbolSource() = default;
  // Read only; none when this place has no such file, or cannot be asked now.
  virtual base::OwnedFd OpenFile(const BuildId& build_id, SymbolKind kind) = 0;
};

// Uploaded files. Borrows `files`.
class UploadedSymbols final : public SymbolSource {
 public:
  explicit UploadedSymbols(SymbolFiles* files) : files_(files) {}
  base::OwnedFd OpenFile(const BuildId& build_id, SymbolKind kind) override {
    return files_->OpenFile(build_id, kind);
  }

 private:
  SymbolFiles* files_;
};

// A directory of this machine: DIRECTORY/.build-id/ab/cdef….debug, and the executable without ".debug", as
// distributions have them; and ELF files of any names anywhere below, as they were when it was opened.
class SymbolDirectory final : public SymbolSource {
 public:
  // Looks through the directory, by the workers, which may take a while. Errors: kIo when it cannot
  // be read; kUnavailable.
  static base::Result<std::unique_ptr<SymbolDirectory>> Open(std::string path, WorkerPool* pool);
  base::OwnedFd OpenFile(const BuildId& build_id, SymbolKind kind) override;

 private:
  explicit SymbolDirectory(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::map<BuildId, std::vector<std::string>> files_;  // that have symbols
};

// Limits a directory of files that can be downloaded again: one directory for each build id, as libdebuginfod
// keeps them.
struct CacheLimits {
  uint64_t total_bytes = uint64_t{10} << 30;
  uint64_t entries = 20'000;  // directories: also of files that no server has
};

// If the directory is over the limits, removes the least recently used entries until a tenth is free; returns
// the number of removed entries. Entries that cannot be removed stay.
uint64_t TrimCacheDirectory(const std::string& directory, const CacheLimits& limits);

// Servers that speak debuginfod's protocol, with a bounded cache of files on disk. Servers that cannot be
// reached, or take long to say that they have no file, are left alone for a minute.
class DebuginfodServers final : public SymbolSource {
 public:
  // `urls` are separated by spaces. Sets this process's environment, which libdebuginfod reads its settings
  // from: to be called before other threads exist. One at most. Errors: kInternal.
  static base::Result<std::unique_ptr<DebuginfodServers>> Create(const std::string& urls,
                                                                 const std::string& cache_directory,
                                                                 const CacheLimits& cache_limits = {});
  ~DebuginfodServers() override;
  base::OwnedFd OpenFile(const BuildId& build_id, SymbolKind kind) override;
  // Breaks off the download that is under way; there are no others after that.
  void Stop() { is_stopping_ = true; }

 private:
  DebuginfodServers(void* client, std::string cache_directory, const CacheLimits& cache_limits)
      : cache_directory_(std::move(cache_directory)), cache_limits_(cache_limits), client_(client) {}

  void TrimCache();

  const std::string cache_directory_;
  const CacheLimits cache_limits_;
  base::OwnedFd log_;
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  void* client_;                  // libdebuginfod's, guarded by mutex_: it answers one at a time
  int64_t is_away_until_ns_ = 0;  // guarded by mutex_
  int64_t trim_at_ns_ = 0;        // likewise
  int lookups_ = 0;               // likewise: since the cache was trimmed
};

}  // namespace lagwatch::collector
