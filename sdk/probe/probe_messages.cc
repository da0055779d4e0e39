// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/probe_messages.h"

namespace lagwatch::sdk {

std::string ProbeDirectory(std::string_view runtime_directory, uint32_t user) {
  if (runtime_directory.starts_with('/')) return std::string(runtime_directory) + "/lagwatch";
  return "/tmp/lagwatch-" + std::to_string(user);
}

std::string ProbeSocketPath(std::string_view directory, int32_t pid) {
  return std::string(directory) + "/probe-" + std::to_string(pid);
}

}  // namespace lagwatch::sdk
