// SPDX-License-Identifier: Apache-2.0
#include "collector/files/small_files.h"

#include <sys/stat.h>

#include "base/process/env.h"

namespace lagwatch::collector {

base::Status ReplaceFile(const std::string& path, std::string_view content) {
  base::Env& env = base::SystemEnv();
  const std::string new_path = path + ".new";
  env.Remove(new_path.c_str());  // a crash may have left one
  int fd = -1;
  int error = env.CreateLocked(new_path.c_str(), &fd);
  if (error == 0) {
    error = env.Append(fd, content.data(), content.size());
    env.Close(fd);
  }
  if (error == 0) error = env.Sync(new_path.c_str());
  if (error == 0) error = env.Rename(new_path.c_str(), path.c_str());
  const size_t slash = path.rfind('/');
  if (error == 0) error = env.Sync(slash == std::string::npos ? "." : path.substr(0, slash).c_str());
  return error == 0 ? base::Status() : base::IoError("cannot write " + path, error);
}

FileStamp FileStamp::Of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.mtime_ns = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec,
          .size_bytes = status.st_size,
          .inode = status.st_ino};
}

}  // namespace lagwatch::collector
