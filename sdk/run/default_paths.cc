// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/default_paths.h"

#include <unistd.h>

#include <cstdlib>

namespace lagwatch::sdk {

std::string DefaultSpoolDirectory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/lagwatch/spool";
  if (const std::string home = HomeDirectory(); !home.empty()) return home + "/.local/state/lagwatch/spool";
  return "/tmp/lagwatch-" + std::to_string(geteuid());
}

std::string HomeDirectory() {
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? home : "";
}

std::string ProgramName() {
  char path[4096];
  ssize_t size = readlink("/proc/thread-self/exe", path, sizeof path);
  if (size <= 0) return "unknown";
  std::string name(path, static_cast<size_t>(size));
  return name.substr(name.rfind('/') + 1);
}

}  // namespace lagwatch::sdk
