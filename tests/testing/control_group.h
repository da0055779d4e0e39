// SPDX-License-Identifier: Apache-2.0
// A control group of the kernel's.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace lagwatch::testing {

class ScopedControlGroup {
 public:
  // In the hierarchy of `controller` where each has its own, in the only one elsewhere. Where none can be
  // made, nothing succeeds.
  ScopedControlGroup(const std::string& controller, const std::string& name) {
    const std::string root = "/sys/fs/cgroup/";
    for (const std::string& hierarchy : {root + controller, root + "unified", root}) {
      const std::filesystem::path folder = std::filesystem::path(hierarchy) / name;
      std::error_code error;
      if (!std::filesystem::exists(hierarchy + "/cgroup.procs", error)) continue;
      if (!std::filesystem::create_directory(folder, error)) continue;
      folder_ = folder;
      return;
    }
  }
  ~ScopedControlGroup() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  ScopedControlGroup(const ScopedControlGroup&) = delete;
  ScopedControlGroup& operator=(const ScopedControlGroup&) = delete;

  bool Take(pid_t pid) const { return Write("cgroup.procs", std::to_string(pid)); }
  // In the hierarchy of "freezer".
  bool SetFrozen(bool is_frozen) const {
    return Write("freezer.state", is_frozen ? "FROZEN" : "THAWED") ||
           Write("cgroup.freeze", is_frozen ? "1" : "0");
  }

 private:
  bool Write(const char* file, const std::string& text) const {
    std::error_code error;
    if (folder_.empty() || !std::filesystem::exists(folder_ / file, error)) return false;
    std::ofstream stream(folder_ / file);
    stream << text << std::flush;
    return stream.good();
  }

  std::filesystem::path folder_;
};

}  // namespace lagwatch::testing
