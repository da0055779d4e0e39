// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/preload_environment.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

namespace lagwatch::sdk {
namespace {

bool Names(const char* variable, std::string_view name) {
  return std::strncmp(variable, name.data(), name.size()) == 0 && variable[name.size()] == '=';
}

}  // namespace

void RestoreEnvironment(const PreloadConfig& config) {
  constexpr std::string_view kPreload = "LD_PRELOAD";
  if (environ == nullptr) return;
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (Names(*variable, kPreloadConfigVariable)) continue;
    if (Names(*variable, kPreload)) {
      if (!config.had_preload) continue;
      // Not longer than what stands there, which has our library in front of it.
      const std::string before = std::string(kPreload) + "=" + config.previous_preload;
      std::memcpy(*variable, before.c_str(), before.size() + 1);
    }
    *kept++ = *variable;
  }
  *kept = nullptr;
}

}  // namespace lagwatch::sdk
