// SPDX-License-Identifier: Apache-2.0
// The interface to the file system, which tests replace to fill the disk, cut a write short or take a file
// away. Methods return 0 or an errno value and never allocate unless they say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::base {

// The attributes of a file, without opening it. Of a symbolic link: of the link itself.
struct FileFacts {
  enum class FileKind : uint8_t { kFile, kDirectory, kLink, kOther };

  FileKind kind = FileKind::kOther;
  bool is_own = false;  // of the user that this process acts for
  uint32_t owner_id = 0;
  uint32_t mode = 0;  // permissions, as for chmod
  uint64_t size_bytes = 0;
  int64_t modified_wall_ms = 0;  // a directory's: when an entry came or went
};

class Env {
 public:
  static constexpr uint64_t kMaxReadBytes = 64 << 20;  // of a file that ReadFile() reads

  virtual ~Env() = default;

  // Creates `path` for appending (mode 0600) and takes an exclusive flock on it, which lasts until Close or
  // the end of the process. EEXIST when it exists. Context: watchdog.
  virtual int CreateLocked(const char* path, int* fd) = 0;
  // `head` and then `body` in one system call; EIO when it was cut short. Context: watchdog.
  virtual int AppendBoth(int fd, std::string_view head, std::string_view body) = 0;
  int Append(int fd, const void* data, size_t size_bytes) {
    return AppendBoth(fd, {}, {static_cast<const char*>(data), size_bytes});
  }
  virtual int Truncate(int fd, uint64_t size_bytes) = 0;     // Context: watchdog.
  virtual void Close(int fd) = 0;                            // Context: watchdog.
  virtual int Rename(const char* from, const char* to) = 0;  // Context: watchdog. Replaces `to`.
  virtual int Remove(const char* path) = 0;                  // Context: watchdog.
  virtual bool Exists(const char* path) = 0;                 // Context: watchdog.
  // Whether the calling thread may open another file: not at RLIMIT_NOFILE. Context: watchdog.
  virtual bool HasFreeDescriptor() { return true; }
  // Errors as of lstat(2). Context: watchdog.
  virtual int Look(const char* path, FileFacts* facts) = 0;
  // Returns when the disk has the file's content, or the directory's entries; that may take for ever. A link
  // is refused (ELOOP). Context: a thread that may wait.
  virtual int Sync(const char* path) = 0;

  // Opens `path`, creating it if necessary (mode 0600), and locks it against other processes until Unlock or
  // the end of this process; a child of a fork() does not share the lock. EWOULDBLOCK if another process has
  // it. Where locks are not supported, as if all were free. Context: background.
  virtual int Lock(const char* path, int* fd) = 0;
  virtual void Unlock(int fd) = 0;
  // Whether a living process holds the lock of `path`, or may hold it: true where locks are not supported,
  // false when there is no such file. Context: background.
  virtual bool IsLocked(const char* path) = 0;
  // Creates the directory and its parents (mode 0700). Context: background; allocates.
  virtual int CreateDirectories(const std::string& path) = 0;
  // Names of the directory's entries, sorted. Context: background; allocates.
  virtual int List(const std::string& path, std::vector<std::string>* names) = 0;
  // Reads the whole file and its attributes; EFBIG past kMaxReadBytes. Context: background; allocates.
  virtual int ReadFile(const std::string& path, std::string* content, FileFacts* facts) = 0;
  int ReadAll(const std::string& path, std::string* content) {
    FileFacts facts;
    return ReadFile(path, content, &facts);
  }
};

// The machine's own file system; lives for ever.
Env& SystemEnv();

}  // namespace lagwatch::base
