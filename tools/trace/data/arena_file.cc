// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/arena_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/clock.h"

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

base::Status ArenaFile::LetIn(uid_t uid) const {
  if (uid == geteuid() || chown(path_.c_str(), uid, static_cast<gid_t>(-1)) == 0) return {};
  return base::IoError("cannot give access to user " + std::to_string(uid) + " write to " + path_, errno);
}

ArenaFile::~ArenaFile() { unlink(path_.c_str()); }

}  // namespace lagwatch::tools
