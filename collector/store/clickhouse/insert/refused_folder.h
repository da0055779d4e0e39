// SPDX-License-Identifier: Apache-2.0
// The folders beside the spool for batches that ClickHouse refused for good: `refused` has them, and a person
// moves a file from there to `resend` once its cause is mended. Thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/process/env.h"
#include "base/status.h"
#include "collector/store/clickhouse/insert/batch_spool.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

class RefusedFolder {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;
  static constexpr size_t kMostFiles = 10'000;

  // Creates both folders in `spool_directory`, if it can. `env` is borrowed. `most_bytes` and `most_files`
  // bound what `refused` keeps.
  RefusedFolder(base::Env* env, const std::string& spool_directory, uint64_t most_bytes = kMostBytes,
                size_t most_files = kMostFiles);

  // Writes a file to `refused` and removes the oldest ones that are over the bounds. The file is on disk when
  // this returns. Returns its path. Errors: kIo.
  base::Result<std::string> Add(const Batch& batch);
  // Counts the files again: operators may have moved some.
  void Refresh();
  // As of the last change or Refresh().
  RefusedBatches state() const;

  // Paths of the files in `resend`, the oldest first.
  std::vector<std::string> FindResent() const;
  // Errors: kIo; kInternal when the file is damaged.
  base::Result<Batch> ReadResent(const std::string& path) const;
  // Errors: kIo.
  base::Status RemoveResent(const std::string& path);
  // Calls `edit` with each batch of both folders, and writes those that it returns true for; one that has no
  // parts then is removed. Damaged files are left out. Errors: kIo.
  base::Status EditAll(const std::function<bool(Batch*)>& edit);
  // Renames a file that is no batch, so that it is not looked at again.
  void SetDamagedAside(const std::string& path);

 private:
  struct File {
    std::string name;
    uint64_t size_bytes;
  };

  // All with the mutex held.
  void List();
  void RemoveOldest();
  std::string NextName();
  base::Status EditIn(const std::string& folder, const std::function<bool(Batch*)>& edit);

  base::Env* const env_;
  const std::string refused_;
  const std::string resend_;
  const uint64_t most_bytes_;
  const size_t most_files_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<File> files_;  // the oldest first
  RefusedBatches state_;
  uint64_t last_number_ = 0;
};

}  // namespace lagwatch::collector
