// SPDX-License-Identifier: Apache-2.0
#include "trace/format/whole_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace lagwatch::trace {

base::Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  struct stat present {};
  const bool is_special = lstat(path.c_str(), &present) == 0 && !S_ISREG(present.st_mode);
  const std::string part = is_special ? path : path + ".part" + std::to_string(getpid());
  if (!is_special) std::remove(part.c_str());  // of an earlier process; a link there would be followed
  errno = 0;
  std::FILE* file = std::fopen(part.c_str(), is_special ? "wbe" : "wbxe");
  const bool is_written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool is_closed = file != nullptr && std::fclose(file) == 0;
  if (is_written && is_closed && (is_special || std::rename(part.c_str(), path.c_str()) == 0)) return {};
  base::Status status = base::IoError("cannot write " + path, errno);
  if (!is_special) std::remove(part.c_str());
  return status;
}

}  // namespace lagwatch::trace
