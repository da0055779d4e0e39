// SPDX-License-Identifier: Apache-2.0
// Waits until the disk has a database's write-ahead log, beside the connection that writes: with
// "PRAGMA synchronous = NORMAL" SQLite itself waits only where the log and the database must not be mixed up.
// So a commit is durable once Sync() has returned: its pages are in the log, or a checkpoint has brought them
// to the database and has waited for that (https://www.sqlite.org/wal.html, "Performance Considerations").
// Thread-safe. Context: background.
#pragma once

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
  // Syncs what was committed so far, as well as it can be, and forgets the log: its database is closed next.
  void Close();

 private:
  base::Status Open();
  base::Status Checkpoint();

  const std::string path_;  // of the log; empty of a database in memory
  Connections* connections_;
  const SyncFile sync_file_;
  std::mutex mutex_;
  int fd_ = -1;  // guarded by mutex_, as the following ones
  bool has_failed_ = false;
};

}  // namespace lagwatch::collector
