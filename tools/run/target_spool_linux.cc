// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "tools/process_files.h"
#include "tools/run/target_spool.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

// The user and groups that a process creates its files as.
struct FileUser {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;

  static FileUser Of(pid_t pid) {
    const auto numbers = [pid](std::string_view field) {
      std::istringstream text(StatusField(pid, field));
      return std::vector<gid_t>(std::istream_iterator<gid_t>(text), {});
    };
    constexpr size_t kOfFiles = 3;  // after the real, the effective and the saved one
    const std::vector<gid_t> users = numbers("Uid");
    const std::vector<gid_t> groups = numbers("Gid");
    FileUser user{.user = geteuid(), .group = getegid(), .groups = numbers("Groups")};
    if (users.size() > kOfFiles) user.user = users[kOfFiles];
    if (groups.size() > kOfFiles) user.group = groups[kOfFiles];
    return user;
  }
  bool Become() const {
    return setgroups(groups.size(), groups.data()) == 0 && setresgid(group, group, group) == 0 &&
           setresuid(user, user, user) == 0;
  }
};

// Creates what is missing of the path. Follows no link that a user has put into the last folder, so that root
// gives away nothing but what it has created. Returns 0 or an errno value.
int CreateFor(const fs::path& directory, const FileUser* owner) {
  base::OwnedFd folder(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const fs::path below = (directory / "").lexically_normal().parent_path().relative_path();
  for (auto part = below.begin(); part != below.end(); ++part) {
    const bool is_last = std::next(part) == below.end();
    const mode_t mode = owner != nullptr && !is_last ? 0755 : 0700;
    const bool is_new = mkdirat(folder.get(), part->c_str(), mode) == 0;
    const int error = is_new ? 0 : errno;
    const int flags = O_DIRECTORY | O_CLOEXEC | (is_last ? O_RDONLY | O_NOFOLLOW : O_PATH);
    base::OwnedFd next(openat(folder.get(), part->c_str(), flags));
    if (!next) return error == 0 || error == EEXIST ? errno : error;
    if (is_new && is_last && owner != nullptr && fchown(next.get(), owner->user, owner->group) != 0)
      return errno;
    folder = std::move(next);
  }
  return 0;
}

// 0 if the calling process can keep its files there.
int CheckOwn(const fs::path& directory) {
  struct stat status {};
  if (lstat(directory.c_str(), &status) != 0) return errno;
  if (!S_ISDIR(status.st_mode)) return ENOTDIR;
  constexpr mode_t kWritableByOthers = 0022;
  if (status.st_uid != geteuid() || (status.st_mode & kWritableByOthers) != 0) return EPERM;
  return access(directory.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

// Calls the function, which returns 0 or an errno value, where the process's root directory is the root.
template <typename Function>
int InRootOf(pid_t pid, const Function& function) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    const bool is_there = chroot((ProcessFolder(pid) / "root").c_str()) == 0 && chdir("/") == 0;
    umask(0022);
    _exit(is_there ? function() : errno);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

enum class Creator : uint8_t { kUser, kRoot };

// Returns 0 or an errno value.
int Prepare(pid_t pid, const FileUser& user, const std::string& directory, Creator creator) {
  if (creator == Creator::kRoot) {
    const int error = InRootOf(pid, [&] { return CreateFor(directory, &user); });
    if (error != 0) return error;
  }
  return InRootOf(pid, [&] {
    if (!user.Become()) return errno;
    const int error = creator == Creator::kUser ? CreateFor(directory, nullptr) : 0;
    return error != 0 ? error : CheckOwn(directory);
  });
}

// As sdk::DefaultSpoolDirectory() in the process; empty without a home.
std::string OwnDefault(pid_t pid) {
  if (const std::string state = VariableOf(pid, "XDG_STATE_HOME"); state.starts_with('/'))
    return state + "/lagwatch/spool";
  const std::string home = VariableOf(pid, "HOME");
  return home.starts_with('/') ? home + "/.local/state/lagwatch/spool" : "";
}

}  // namespace

bool IsOtherUsers(pid_t pid) { return FileUser::Of(pid).user != geteuid(); }

base::Result<std::string> PrepareSpoolFor(pid_t pid, const std::string& wanted) {
  const FileUser user = FileUser::Of(pid);
  const std::string number = std::to_string(user.user);
  if (!wanted.empty()) {
    int error = Prepare(pid, user, wanted, Creator::kUser);
    if (error != 0) error = Prepare(pid, user, wanted, Creator::kRoot);
    if (error == 0) return wanted;
    return base::Status(base::StatusCode::kInvalid, "user " + number + " of process " + std::to_string(pid) +
                                                        " can keep no reports in the spool directory " +
                                                        wanted + ": " + std::strerror(error) +
                                                        "; name one that is its own, or does not exist yet");
  }
  const std::pair<std::string, Creator> candidates[] = {
      {OwnDefault(pid), Creator::kUser},
      {"/var/lib/lagwatch/" + number, Creator::kRoot},
      {"/tmp/lagwatch-" + number, Creator::kUser},
      {"/dev/shm/lagwatch-" + number, Creator::kUser},
  };
  for (const auto& [directory, creator] : candidates)
    if (!directory.empty() && Prepare(pid, user, directory, creator) == 0) return directory;
  return base::Status(base::StatusCode::kInvalid,
                      "user " + number + " of process " + std::to_string(pid) +
                          " can write to none of its home, /var/lib/lagwatch, /tmp and /dev/shm: name a "
                          "directory that it can write to (--spool)");
}

}  // namespace lagwatch::tools
