// SPDX-License-Identifier: Apache-2.0
// A directory for what a command needs while it runs. Context: background.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace lagwatch::tools {

class TemporaryDirectory {
 public:
  // Among the machine's temporary files; its name begins with `prefix`, and only this user may look into it.
  explicit TemporaryDirectory(const std::string& prefix) {
    std::error_code error;
    std::string path = std::filesystem::temp_directory_path(error) / (prefix + "-XXXXXX");
    if (!error && mkdtemp(path.data()) != nullptr) path_ = path;
  }
  // Removes it with all that it holds.
  ~TemporaryDirectory() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  // Empty if it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lagwatch::tools
