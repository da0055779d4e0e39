// SPDX-License-Identifier: Apache-2.0
#include "collector/files/replace_file.h"

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

}  // namespace lagwatch::collector
