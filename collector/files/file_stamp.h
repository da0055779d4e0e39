// SPDX-License-Identifier: Apache-2.0
// Identifies a state of a file, for files that are read again when they change. Context: background.
#pragma once

#include <cstdint>
#include <string>

namespace lagwatch::collector {

struct FileStamp {
  int64_t mtime_ns = 0;
  int64_t size_bytes = -1;
  uint64_t inode = 0;

  // The stamp of the present file at `path`; the default without one.
  static FileStamp Of(const std::string& path);
  bool operator==(const FileStamp&) const = default;
};

}  // namespace lagwatch::collector
