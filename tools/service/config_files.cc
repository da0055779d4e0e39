// SPDX-License-Identifier: Apache-2.0
#include "tools/service/config_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/owned_fd.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

base::Status CannotWrite(const fs::path& file, int error) {
  return base::IoError("cannot write " + file.string() + (error == EACCES ? " (use sudo)" : ""), error);
}

// Returns 0 or an errno value.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

base::Result<std::string> ReadConfigFile(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    return base::Status(base::StatusCode::kNotFound, file.string() + " is not there");
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream) return base::Status(base::StatusCode::kIo, "cannot read " + file.string());
  return text.str();
}

base::Status WriteConfigFile(const fs::path& file, std::string_view text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return CannotWrite(file, error.value());
  // A link stays one.
  const fs::path target = fs::exists(file) ? fs::canonical(file, error) : file;
  const fs::path new_file = target.string() + ".new";
  struct stat before {};
  const bool is_there = stat(target.c_str(), &before) == 0;
  unlink(new_file.c_str());  // of a command that was killed
  const base::OwnedFd fd(open(new_file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return CannotWrite(file, errno);
  constexpr mode_t kReadableByAll = 0644;
  constexpr mode_t kModeBits = 07777;
  bool is_set = fchmod(fd.get(), is_there ? before.st_mode & kModeBits : kReadableByAll) == 0;
  if (is_there) is_set = is_set && fchown(fd.get(), before.st_uid, before.st_gid) == 0;
  int failure = is_set ? WriteAll(fd.get(), text) : errno;
  if (failure == 0 && rename(new_file.c_str(), target.c_str()) != 0) failure = errno;
  if (failure == 0) return {};
  unlink(new_file.c_str());
  return CannotWrite(file, failure);
}

base::Status RemoveConfigFile(const fs::path& file) {
  if (unlink(file.c_str()) != 0) {
    const int error = errno;
    return base::IoError("cannot remove " + file.string() + (error == EACCES ? " (use sudo)" : ""), error);
  }
  rmdir(file.parent_path().c_str());
  return {};
}

}  // namespace lagwatch::tools
