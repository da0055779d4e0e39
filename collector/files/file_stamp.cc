// SPDX-License-Identifier: Apache-2.0
#include "collector/files/file_stamp.h"

#include <sys/stat.h>

namespace lagwatch::collector {

FileStamp FileStamp::Of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.mtime_ns = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec,
          .size_bytes = status.st_size,
          .inode = status.st_ino};
}

}  // namespace lagwatch::collector
