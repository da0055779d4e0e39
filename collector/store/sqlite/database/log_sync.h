// SPDX-License-Identifier: Apache-2.0
// Waits until the disk has a database's write-ahead log, beside the connection that writes: with
// "PRAGMA synchronous = NORMAL" SQLite itself waits only where the log and the database must not be mixed up.
// So a commit is durable once Sync() has returned: its pages are in the log, or a checkpoint has brought them
// to the database and has waited for that (https://www.sqlite.org/wal.html, "Performance Considerations").
// Thread-safe. Context: background.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/status.h"
#include "collector/store/sqlite/database/connections.h"

namespace lagwatch::collector {

class LogSync {
 public:
  // fdatasync(2), or what a test has in its place.
  using SyncFile = std::function<int(int fd)>;

  // Borrows `connections`, of the database in `path`; the log stays the same file as long as they are open.
  LogSync(const std::string& path, Connections* connections, SyncFile sync_file);
  ~LogSync();
  LogSync(const LogSync&) = delete;
  LogSync& operator=(const LogSync&) = delete;

  // Errors: kUnavailable when the disk refuses.
  base::Status Sync();
  // Sync() waits while it lives. A thread that wants the writer, too, takes this first, as Sync() does.
  using Hold = std::unique_lock<std::mutex>;
  Hold HoldSyncs() { return Hold(mutex_); }
  // Syncs what was committed so far, and forgets the log: its database is closed next. To be called with the
  // writer.
  void Close(const Hold& hold);
  // The logs that were closed and may not be on disk. A commit is durable once Sync() has returned if this
  // number is still that of before the commit. Does not wait.
  uint64_t lost_logs() const { return lost_logs_; }

 private:
  base::Status Open();
  base::Status Checkpoint();

  const std::string path_;  // of the log; empty of a database in memory
  Connections* connections_;
  const SyncFile sync_file_;
  std::mutex mutex_;
  int fd_ = -1;  // guarded by mutex_, as the following ones
  bool has_failed_ = false;
  std::atomic<uint64_t> lost_logs_{0};
};

}  // namespace lagwatch::collector
