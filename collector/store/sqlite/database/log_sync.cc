// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/database/log_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace lagwatch::collector {
namespace {

Status Unavailable(const std::string& path) {
  return {StatusCode::kUnavailable, "cannot sync " + path + ": " + std::strerror(errno)};
}

// The entry of a new file is durable once its directory is.
Status SyncDirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::absolute(path).parent_path();
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Unavailable(directory);
  const bool is_synced = fsync(fd) == 0;
  const Status status = is_synced ? Status() : Unavailable(directory);
  close(fd);
  return status;
}

}  // namespace

LogSync::LogSync(const std::string& path, Connections* connections, SyncFile sync_file)
    : path_(path == ":memory:" ? "" : path + "-wal"),
      connections_(connections),
      sync_file_(std::move(sync_file)) {}

LogSync::~LogSync() {
  if (fd_ >= 0) close(fd_);
}

Status LogSync::Open() {
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Unavailable(path_);
  if (Status synced = SyncDirectoryOf(path_); !synced.ok()) {
    close(fd);
    return synced;
  }
  fd_ = fd;
  return {};
}

Status LogSync::Sync() {
  if (path_.empty()) return {};
  std::lock_guard lock(mutex_);
  if (has_failed_) {
    if (Status copied = Checkpoint(); !copied.ok()) return copied;
    has_failed_ = false;
  }
  if (fd_ < 0) {
    if (Status opened = Open(); !opened.ok()) return opened;
  }
  if (sync_file_(fd_) == 0) return {};
  has_failed_ = true;
  return Unavailable(path_);
}

void LogSync::Close(const Hold&) {
  if (path_.empty()) return;
  const bool is_open = fd_ >= 0 || Open().ok();
  if (has_failed_ || !is_open || sync_file_(fd_) != 0) ++lost_logs_;
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  has_failed_ = false;
}

// Linux reports a failed write once, and takes the page for clean from then on: a second fdatasync() says
// nothing. So all is written once more, to the database.
Status LogSync::Checkpoint() {
  try {
    Connections::ScopedWriter writer(connections_);
    Statement row = writer->Use("PRAGMA wal_checkpoint(RESTART)");
    const bool is_complete = row.Step() && row.Int(0) == 0;
    return is_complete ? Status() : Status(StatusCode::kUnavailable, "the log cannot be written again");
  } catch (const SqliteError& error) {
    return {StatusCode::kUnavailable, std::string("the database refuses: ") + error.what()};
  }
}

}  // namespace lagwatch::collector
