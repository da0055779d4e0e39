// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/system/file_calls.h"

namespace lagwatch::base {

int64_t ModifiedWallMs(const struct stat& status) {
  return status.st_mtimespec.tv_sec * 1000 + status.st_mtimespec.tv_nsec / 1'000'000;
}

int OpenRoot() { return open("/", O_RDONLY | O_CLOEXEC); }

// Past the drive's own cache, where the file system can.
int SyncContent(int fd) { return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd); }

int internal::ForEachNameIn(int directory_fd, NameVisitor visit, void* context) {
  DIR* directory = fdopendir(dup(directory_fd));
  if (directory == nullptr) return errno;
  rewinddir(directory);  // the copy shares the position
  errno = 0;
  const dirent* entry;
  while ((entry = readdir(directory)) != nullptr && visit(entry->d_name, context)) errno = 0;
  const int error = entry == nullptr ? errno : 0;
  closedir(directory);
  return error;
}

}  // namespace lagwatch::base
