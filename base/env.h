// SPDX-License-Identifier: Apache-2.0
// The file system behind a seam, so that tests can fill the disk, cut a write short or take a file away.
// Methods return 0 or an errno value and never allocate unless they say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::base {

class Env {
 public:
  virtual ~Env() = default;

  // Creates `path` for appending (mode 0600) and takes an exclusive flock on it, which lasts until Close or
  // the end of the process. EEXIST when it exists. Context: watchdog.
  virtual int CreateLocked(const char* path, int* fd) = 0;
  // One write(2); EIO when it was cut short. Context: watchdog.
  virtual int Append(int fd, const void* data, size_t size_bytes) = 0;
  virtual int Truncate(int fd, uint64_t size_bytes) = 0;     // Context: watchdog.
  virtual void Close(int fd) = 0;                            // Context: watchdog.
  virtual int Rename(const char* from, const char* to) = 0;  // Context: watchdog. Replaces `to`.
  virtual int Remove(const char* path) = 0;                  // Context: watchdog.
  virtual bool Exists(const char* path) = 0;                 // Context: watchdog.

  // Returns when the disk has the file's content, or the directory's entries; that may take for ever. A link
  // is refused (ELOOP). Context: a thread that may wait.
  virtual int Sync(const char* path) = 0;

  // Opens `path`, made if need be (mode 0600), and takes a lock on it that other processes cannot take until
  // Unlock or the end of this process; a child of a fork() has no part in it. EWOULDBLOCK when another
  // process has it. Where there are no locks to be had, as if all were free. Context: background.
  virtual int Lock(const char* path, int* fd) = 0;
  virtual void Unlock(int fd) = 0;
  // Whether a living process holds the lock of `path`, or may hold it: true where locks are not supported,
  // false when there is no such file. Context: background.
  virtual bool IsLocked(const char* path) = 0;
  // Creates the directory and its parents (mode 0700). Context: background; allocates.
  virtual int CreateDirectories(const std::string& path) = 0;
  // Names of the directory's entries, sorted. Context: background; allocates.
  virtual int List(const std::string& path, std::vector<std::string>* names) = 0;
  // The whole file; EFBIG past 64 MiB. Context: background; allocates.
  virtual int ReadAll(const std::string& path, std::string* content) = 0;
};

// The machine's own file system; lives for ever.
Env& SystemEnv();

}  // namespace lagwatch::base
