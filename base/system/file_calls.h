// SPDX-License-Identifier: Apache-2.0
// Calls on files that systems name differently. Context: as in base/process/env.h.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace lagwatch::base {

int64_t ModifiedWallMs(const struct stat& status);

// A descriptor for the root directory, for nothing but to be closed; -1, and errno, if there is none.
int OpenRoot();

// Waits until the disk has the file's content; -1, and errno, if it cannot.
int SyncContent(int fd);

// Calls `visit(name)` for each name in the open directory from its beginning, "." and ".." among them, until
// it returns false. Returns 0, or errno. Unlike readdir(3) on Linux, it allocates nothing.
template <typename Visit>
int ForEachNameIn(int directory_fd, Visit visit);

namespace internal {
using NameVisitor = bool (*)(const char* name, void* context);
int ForEachNameIn(int directory_fd, NameVisitor visit, void* context);
}  // namespace internal

template <typename Visit>
int ForEachNameIn(int directory_fd, Visit visit) {
  return internal::ForEachNameIn(
      directory_fd, [](const char* name, void* context) { return (*static_cast<Visit*>(context))(name); },
      &visit);
}

}  // namespace lagwatch::base
