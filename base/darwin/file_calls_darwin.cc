// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "base/system/file_calls.h"

namespace lagwatch::base {

int64_t ModifiedWallMs(const struct stat& status) {
  return status.st_mtimespec.tv_sec * 1000 + status.st_mtimespec.tv_nsec / 1'000'000;
}

int OpenRoot() { return open("/", O_RDONLY | O_CLOEXEC); }

// Past the drive's own cache, where the file system can.
int SyncContent(int fd) { return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd); }

}  // namespace lagwatch::base
