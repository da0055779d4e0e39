// SPDX-License-Identifier: Apache-2.0
#include "trace/format/whole_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

namespace lagwatch::trace {

base::Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  struct stat present {};
  const bool is_special = lstat(path.c_str(), &present) == 0 && !S_ISREG(present.st_mode);
  const std::string part = is_special ? path : path + ".part" + std::to_string(getpid());
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file && (is_special || std::rename(part.c_str(), path.c_str()) == 0)) return {};
  base::Status status = base::IoError("cannot write " + path, errno);
  if (!is_special) std::remove(part.c_str());
  return status;
}

}  // namespace lagwatch::trace
