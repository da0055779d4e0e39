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

}  // namespace lagwatch::base
