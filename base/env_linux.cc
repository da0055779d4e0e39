// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/env.h"

namespace lagwatch::base {
namespace {

constexpr size_t kMaxFileBytes = 64 << 20;

class LinuxEnv final : public Env {
 public:
  int CreateLocked(const char* path, int* fd) override {
    int opened = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (opened < 0) return errno;
    // Nobody else can hold a new file's lock, so this does not wait; a file system without flock still works.
    flock(opened, LOCK_EX | LOCK_NB);
    *fd = opened;
    return 0;
  }

  int Append(int fd, const void* data, size_t size_bytes) override {
    ssize_t written;
    do {
      written = write(fd, data, size_bytes);
    } while (written < 0 && errno == EINTR);
    if (written < 0) return errno;
    return static_cast<size_t>(written) == size_bytes ? 0 : EIO;
  }

  int Truncate(int fd, uint64_t size_bytes) override {
    return ftruncate(fd, static_cast<off_t>(size_bytes)) == 0 ? 0 : errno;
  }

  void Close(int fd) override { close(fd); }

  int Rename(const char* from, const char* to) override { return rename(from, to) == 0 ? 0 : errno; }

  int Remove(const char* path) override { return unlink(path) == 0 ? 0 : errno; }

  bool Exists(const char* path) override { return access(path, F_OK) == 0; }

  int Sync(const char* path) override {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno;
    int error = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return error;
  }

  int Lock(const char* path, int* fd) override {
    int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (opened < 0) return errno;
    // Of the process, unlike flock's: a child of a fork() would hold that on for as long as it lives.
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(opened, F_SETLK, &whole) != 0 && (errno == EACCES || errno == EAGAIN)) {
      close(opened);
      return EWOULDBLOCK;
    }
    *fd = opened;
    return 0;
  }

  void Unlock(int fd) override { close(fd); }

  bool IsLocked(const char* path) override {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    // Where there are no locks to ask, nothing may be taken for abandoned.
    bool is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return is_locked;
  }

  int CreateDirectories(const std::string& path) override {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      if (mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST) return errno;
      if (end == std::string::npos) break;
    }
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return errno;
    return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
  }

  int List(const std::string& path, std::vector<std::string>* names) override {
    names->clear();
    std::error_code error;
    for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      names->push_back(at->path().filename().string());
    }
    std::sort(names->begin(), names->end());
    return error.value();
  }

  int ReadAll(const std::string& path, std::string* content) override {
    content->clear();
    // Not blocking, so that a FIFO put in a file's place cannot hang the reader.
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno;
    char piece[65536];
    ssize_t got = 0;
    while (content->size() <= kMaxFileBytes && (got = read(fd, piece, sizeof piece)) > 0) {
      content->append(piece, static_cast<size_t>(got));
    }
    int error = got < 0 ? errno : content->size() > kMaxFileBytes ? EFBIG : 0;
    close(fd);
    return error;
  }
};

}  // namespace

Env& SystemEnv() {
  // Never destroyed: the watchdog may still run while the process ends.
  static LinuxEnv& env = *new LinuxEnv;
  return env;
}

}  // namespace lagwatch::base
