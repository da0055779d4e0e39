// SPDX-License-Identifier: Apache-2.0
// Small files that are replaced as a whole, and read again when they change. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

// Writes `path` (mode 0600) so that a reader, or the next start after a crash, finds the old content or the
// new one, never a part; on disk when it returns. Two writers of one file must take turns. Errors: kIo.
base::Status ReplaceFile(const std::string& path, std::string_view content);

// Identifies a state of a file.
struct FileStamp {
  int64_t mtime_ns = 0;
  int64_t size_bytes = -1;
  uint64_t inode = 0;

  // The stamp of the present file at `path`; the default without one.
  static FileStamp Of(const std::string& path);
  bool operator==(const FileStamp&) const = default;
};

}  // namespace lagwatch::collector
