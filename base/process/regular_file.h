// SPDX-License-Identifier: Apache-2.0
// Opens files whose names others give. Context: any.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/owned_fd.h"

namespace lagwatch::base {

// A descriptor for reading, which the caller closes, if it is a regular file; -1 if it is anything else:
// opening a pipe would wait, and opening a device may have effects. `*status` describes the file.
inline int OpenRegularFile(const char* path, struct stat* status) {
#ifdef O_PATH
  const OwnedFd found(open(path, O_PATH | O_CLOEXEC));
  if (!found || fstat(found.get(), status) != 0 || !S_ISREG(status->st_mode)) return -1;
  char same[48];  // the thread may have descriptors of its own
  std::snprintf(same, sizeof same, "/proc/thread-self/fd/%d", found.get());
  const int file = open(same, O_RDONLY | O_CLOEXEC);
  if (file >= 0) return file;
#endif
  // /proc may not be there.
  const int named = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (named < 0 || (fstat(named, status) == 0 && S_ISREG(status->st_mode))) return named;
  close(named);
  return -1;
}

}  // namespace lagwatch::base
