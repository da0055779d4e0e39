// SPDX-License-Identifier: Apache-2.0
// Keeps a second collector out of a data directory. Context: background.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// Holds DATA/collector.lock as long as it lives; the system releases it when the process ends,
// however it ends.
class DataLock {
 public:
  // Errors: kUnavailable when another process has the directory; kIo.
  static base::Result<std::unique_ptr<DataLock>> Take(const std::string& directory);
  ~DataLock();
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;

 private:
  explicit DataLock(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace lagwatch::collector
