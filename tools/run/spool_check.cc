// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/process/env.h"
#include "report/spool/spool_directory.h"
#include "sdk/run/run_record.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

// Directories that are removed again, unless something is in them by then.
class ScopedDirectories {
 public:
  ScopedDirectories() = default;
  ~ScopedDirectories() {
    for (auto directory = created_.rbegin(); directory != created_.rend(); ++directory)
      rmdir(directory->c_str());
  }
  ScopedDirectories(const ScopedDirectories&) = delete;
  ScopedDirectories& operator=(const ScopedDirectories&) = delete;

  // With its parents. Returns 0 or an errno value.
  int Create(const fs::path& directory) {
    fs::path so_far;
    for (const fs::path& part : directory) {
      so_far /= part;
      if (mkdir(so_far.c_str(), 0700) == 0) {
        created_.push_back(so_far);
        continue;
      }
      const int error = std::exchange(errno, 0);
      struct stat status {};
      if (stat(so_far.c_str(), &status) != 0) return error;
      if (!S_ISDIR(status.st_mode)) return ENOTDIR;
    }
    return 0;
  }

 private:
  std::vector<fs::path> created_;
};

// Whether the directory could be created, as far as modes say. A change of the file system, even one that is
// taken back, may wait for its journal for tens of milliseconds, and each start of a program would pay for
// it.
bool CanSurelyCreate(fs::path directory) {
  struct stat status {};
  while (stat(directory.c_str(), &status) != 0) {
    if (errno != ENOENT || directory == directory.parent_path()) return false;
    directory = directory.parent_path();
  }
  // In a directory of the kernel's, such as /proc, root itself creates nothing in spite of access(2).
  constexpr mode_t kWritable = 0222;
  return S_ISDIR(status.st_mode) && (status.st_mode & kWritable) != 0 &&
         access(directory.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

base::Status CheckCanKeepReports(const std::string& spool_directory) {
  struct stat there {};
  const bool is_there = lstat(spool_directory.c_str(), &there) == 0;
  if (!is_there && CanSurelyCreate(spool_directory)) return {};
  ScopedDirectories directories;
  if (const int error = directories.Create(spool_directory))
    return base::IoError("cannot create the spool directory " + spool_directory, error);
  if (base::Status status = report::CheckSpoolDirectory(&base::SystemEnv(), spool_directory); !status.ok())
    return status;
  const fs::path runs = fs::path(spool_directory) / sdk::kRunDirectoryName;
  if (CanSurelyCreate(runs)) return {};
  if (const int error = directories.Create(runs))
    return base::IoError("cannot write to the spool directory " + spool_directory, error);
  if (access(spool_directory.c_str(), W_OK | X_OK) != 0)
    return base::IoError("cannot write to the spool directory " + spool_directory, errno);
  return {};
}

}  // namespace lagwatch::tools
