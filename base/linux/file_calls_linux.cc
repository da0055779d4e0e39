// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/system/file_calls.h"

namespace lagwatch::base {

int64_t ModifiedWallMs(const struct stat& status) {
  return status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

int OpenRoot() { return open("/", O_PATH | O_CLOEXEC); }

int SyncContent(int fd) { return fdatasync(fd); }

int internal::ForEachNameIn(int directory_fd, NameVisitor visit, void* context) {
  alignas(dirent64) char entries[4096];
  if (lseek(directory_fd, 0, SEEK_SET) < 0) return errno;
  for (;;) {
    const long size = syscall(SYS_getdents64, directory_fd, entries, sizeof entries);
    if (size <= 0) return size == 0 ? 0 : errno;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (!visit(entry->d_name, context)) return 0;
    }
  }
}

}  // namespace lagwatch::base
