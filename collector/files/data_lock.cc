// SPDX-License-Identifier: Apache-2.0
#include "collector/files/data_lock.h"

#include <cerrno>

#include "base/process/env.h"

namespace lagwatch::collector {

base::Result<std::unique_ptr<DataLock>> DataLock::Take(const std::string& directory) {
  const std::string path = directory + "/collector.lock";
  int fd = -1;
  const int error = base::SystemEnv().Lock(path.c_str(), &fd);
  if (error == EWOULDBLOCK) {
    return base::Status(base::StatusCode::kUnavailable,
                        "another collector serves the data directory " + directory +
                            ": stop it, or use another directory with --data");
  }
  if (error != 0) return base::IoError("cannot lock " + path, error);
  return std::unique_ptr<DataLock>(new DataLock(fd));
}

DataLock::~DataLock() { base::SystemEnv().Unlock(fd_); }

}  // namespace lagwatch::collector
