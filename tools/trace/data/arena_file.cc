// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/arena_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/owned_fd.h"

namespace lagwatch::tools {

base::Result<std::unique_ptr<ArenaFile>> ArenaFile::Create(const trace::Arena::Sizes& sizes) {
  constexpr char kInMemory[] = "/dev/shm";
  const bool is_in_memory = access(kInMemory, W_OK) == 0;
  const std::filesystem::path directory = is_in_memory ? kInMemory : std::filesystem::temp_directory_path();
  const std::string name =
      "lagwatch-trace-" + std::to_string(getpid()) + "-" + std::to_string(base::SystemClock().MonoNs());
  std::string path = directory / name;
  auto arena = LAGWATCH_TRY(trace::Arena::CreateFile(path, sizes));
  arena->header().owner_pid = getpid();
  return std::unique_ptr<ArenaFile>(new ArenaFile(std::move(path), std::move(arena)));
}

ArenaFile::ArenaFile(std::string path, std::unique_ptr<trace::Arena> arena)
    : path_(std::move(path)), arena_(std::move(arena)) {}

base::Status ArenaFile::WriteRules(const std::string& text) {
  const std::string path = path_ + ".rules";
  const base::OwnedFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return base::IoError("cannot make " + path, errno);
  rules_path_ = path;
  for (size_t at = 0; at < text.size();) {
    const ssize_t size = write(file.get(), text.data() + at, text.size() - at);
    if (size <= 0) return base::IoError("cannot write " + path, errno);
    at += static_cast<size_t>(size);
  }
  return {};
}

base::Status ArenaFile::LetIn(uid_t uid) const {
  if (uid == geteuid()) return {};
  for (const std::string* path : {&path_, &rules_path_}) {
    if (!path->empty() && chown(path->c_str(), uid, static_cast<gid_t>(-1)) != 0)
      return base::IoError("cannot give access to user " + std::to_string(uid) + " write to " + *path, errno);
  }
  return {};
}

ArenaFile::~ArenaFile() {
  unlink(path_.c_str());
  if (!rules_path_.empty()) unlink(rules_path_.c_str());
}

}  // namespace lagwatch::tools
