// SPDX-License-Identifier: Apache-2.0
// The free space of a directory's file system, with a low-water mark: below it nothing new is stored,
// so that jobs that make room (retention, deletion, checkpoints of the database) have room to work.
// Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

class DiskSpace {
 public:
  // A mark of 0 is never reached.
  DiskSpace(std::string directory, uint64_t low_water_bytes)
      : directory_(std::move(directory)), low_water_bytes_(low_water_bytes) {}

  // Errors: kUnavailable below the mark. Ok when the file system does not say.
  base::Status Check() const;
  // Bytes that this process may still write; UINT64_MAX when the file system does not say.
  uint64_t FreeBytes() const;

 private:
  const std::string directory_;
  const uint64_t low_water_bytes_;
};

}  // namespace lagwatch::collector
