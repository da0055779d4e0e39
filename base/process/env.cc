// SPDX-License-Identifier: Apache-2.0
#include "base/process/env.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <new>

#include "base/process/mapped_array.h"
#include "base/system/file_calls.h"

namespace lagwatch::base {
namespace {

FileFacts ToFacts(const struct stat& status) {
  using FileKind = FileFacts::FileKind;
  return {.kind = S_ISREG(status.st_mode)   ? FileKind::kFile
                  : S_ISDIR(status.st_mode) ? FileKind::kDirectory
                  : S_ISLNK(status.st_mode) ? FileKind::kLink
                                            : FileKind::kOther,
          .is_own = status.st_uid == geteuid(),
          .owner_id = status.st_uid,
          .mode = status.st_mode & 07777U,
          .size_bytes = static_cast<uint64_t>(status.st_size),
          .modified_wall_ms = ModifiedWallMs(status)};
}

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

class FileSystemEnv final : public Env {
 public:
  int CreateLocked(const char* path, int* fd) override {
    int opened = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (opened < 0) return errno;
    // No other process can hold a new file's lock, so this does not wait; a file system without
    // flock still works.
    flock(opened, LOCK_EX | LOCK_NB);
    *fd = opened;
    return 0;
  }

  int AppendBoth(int fd, std::string_view head, std::string_view body) override {
    const iovec pieces[] = {{.iov_base = const_cast<char*>(head.data()), .iov_len = head.size()},
                            {.iov_base = const_cast<char*>(body.data()), .iov_len = body.size()}};
    ssize_t written;
    do {
      written = writev(fd, pieces, 2);
    } while (written < 0 && errno == EINTR);
    if (written < 0) return errno;
    return static_cast<size_t>(written) == head.size() + body.size() ? 0 : EIO;
  }

  int Truncate(int fd, uint64_t size_bytes) override {
    return ftruncate(fd, static_cast<off_t>(size_bytes)) == 0 ? 0 : errno;
  }

  void Close(int fd) override { close(fd); }

  int Rename(const char* from, const char* to) override { return rename(from, to) == 0 ? 0 : errno; }

  int Remove(const char* path) override { return unlink(path) == 0 ? 0 : errno; }

  bool Exists(const char* path) override { return access(path, F_OK) == 0; }

  bool HasFreeDescriptor() override {
    const int fd = OpenRoot();
    if (fd >= 0) close(fd);
    return fd >= 0 || (errno != EMFILE && errno != ENFILE);
  }

  int Look(const char* path, FileFacts* facts) override {
    struct stat status {};
    if (lstat(path, &status) != 0) return errno;
    *facts = ToFacts(status);
    return 0;
  }

  int Sync(const char* path) override {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno;
    struct stat before {};
    int error = fstat(fd, &before) == 0 ? 0 : errno;
    if (error == 0 && (S_ISDIR(before.st_mode) ? fsync(fd) : SyncContent(fd)) != 0) error = errno;
    // The program may have closed descriptors that it does not know while the disk took its time: then this
    // one may be the program's by now (but see HasOwnFiles).
    struct stat after {};
    if (fstat(fd, &after) == 0 && IsSameFile(before, after)) close(fd);
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
    if (fd < 0) return errno != ENOENT && errno != ELOOP;
    // If locks are not supported, no file may be considered abandoned.
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
    const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return errno;
    // Throws nothing while the descriptor is open.
    MappedArray<char> texts;
    bool is_kept = true;
    int error = ForEachNameIn(directory, [&](const char* text) {
      const std::string_view name = text;
      for (size_t i = 0; name != "." && name != ".." && i <= name.size(); ++i)
        is_kept = is_kept && texts.PushBack(text[i]);
      return is_kept;
    });
    if (!is_kept) error = ENOMEM;
    close(directory);
    for (const char* name = texts.data(); error == 0 && name != texts.end(); name += names->back().size() + 1)
      names->emplace_back(name);
    std::sort(names->begin(), names->end());
    return error;
  }

  int ReadFile(const std::string& path, std::string* content, FileFacts* facts) override {
    content->clear();
    // Not blocking, so that a FIFO put in a file's place cannot hang the reader.
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno;
    struct stat status {};
    int error = fstat(fd, &status) == 0 ? ReadOpen(fd, static_cast<size_t>(status.st_size), content) : errno;
    *facts = ToFacts(status);
    close(fd);
    return error;
  }

 private:
  // `expected_bytes` may be wrong: the file may grow, or not report its size.
  static int ReadOpen(int fd, size_t expected_bytes, std::string* content) {
    constexpr size_t kPieceBytes = 65536;
    size_t read_bytes = 0;
    content->resize(std::min<size_t>(expected_bytes, kMaxReadBytes) + 1);
    ssize_t got = 0;
    while ((got = read(fd, content->data() + read_bytes, content->size() - read_bytes)) > 0) {
      read_bytes += static_cast<size_t>(got);
      if (read_bytes > kMaxReadBytes) break;
      if (read_bytes == content->size())
        content->resize(std::min<size_t>(2 * read_bytes + kPieceBytes, kMaxReadBytes + 1));
    }
    const int error = got < 0 ? errno : read_bytes > kMaxReadBytes ? EFBIG : 0;
    content->resize(error == 0 ? read_bytes : 0);
    return error;
  }
};

}  // namespace

Env& SystemEnv() {
  // Never destroyed: the watchdog may still run while the process ends.
  alignas(
      FileSystemEnv) static std::byte memory[sizeof(FileSystemEnv)];  // the first use may meet a full memory
  static FileSystemEnv& env = *new (memory) FileSystemEnv;
  return env;
}

}  // namespace lagwatch::base
