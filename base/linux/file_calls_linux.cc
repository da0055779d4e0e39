// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "base/system/file_calls.h"

namespace lagwatch::base {

int64_t ModifiedWallMs(const struct stat& status) {
  return status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

int OpenRoot() { return open("/", O_PATH | O_CLOEXEC); }

int SyncContent(int fd) { return fdatasync(fd); }

}  // namespace lagwatch::base
