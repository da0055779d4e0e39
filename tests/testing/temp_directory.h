// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lagwatch::testing {

inline constexpr std::string_view kTestDirectoryPrefix = "lagwatch-test-";

// An empty directory that is removed with all it holds.
class ScopedTempDirectory {
 public:
  ScopedTempDirectory() : ScopedTempDirectory(std::filesystem::temp_directory_path()) {}
  explicit ScopedTempDirectory(const std::filesystem::path& parent) {
    std::string path = (parent / std::string(kTestDirectoryPrefix).append("XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    path_ = path;
  }
  // A process that has not ended yet may still write there.
  ~ScopedTempDirectory() {
    std::error_code error;
    for (int tries = 10; tries != 0 && (std::filesystem::remove_all(path_, error), error); --tries) {
    }
  }
  ScopedTempDirectory(const ScopedTempDirectory&) = delete;
  ScopedTempDirectory& operator=(const ScopedTempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

// A temporary directory in memory, if that has room, for tests that write much and are not about the disk: on
// a disk that others use, each commit of a database may take 100 ms.
class ScopedMemoryDirectory : public ScopedTempDirectory {
 public:
  ScopedMemoryDirectory() : ScopedTempDirectory(Parent()) {}

 private:
  static std::filesystem::path Parent() {
    constexpr uintmax_t kEnoughBytes = 512 << 20;
    std::error_code error;
    const auto space = std::filesystem::space("/dev/shm", error);
    return !error && space.available >= kEnoughBytes ? "/dev/shm" : std::filesystem::temp_directory_path();
  }
};

}  // namespace lagwatch::testing
