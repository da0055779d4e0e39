// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/preload_environment.h"

#include <sys/auxv.h>
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

std::string RestoreEnvironment(const PreloadConfig& config) {
  constexpr std::string_view kPreload = "LD_PRELOAD";
  std::string library;
  if (environ == nullptr) return library;
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (Names(*variable, kPreloadConfigVariable)) continue;
    if (Names(*variable, kPreload)) {
      const std::string_view value(*variable + kPreload.size() + 1);
      library = value.substr(0, value.find(':'));
      if (!config.had_preload) continue;
      // Not longer than the present value, which has our library in front of it.
      const std::string before = std::string(kPreload) + "=" + config.previous_preload;
      std::memcpy(*variable, before.c_str(), before.size() + 1);
    }
    *kept++ = *variable;
  }
  *kept = nullptr;
  return library;
}

std::string AppName(const PreloadConfig& config) {
  constexpr std::string_view kDescriptors = "/dev/fd/";  // of fexecve(3)
  if (!config.options.app.empty()) return config.options.app;
  if (!config.script.empty()) return config.script;
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const std::string_view path = started == nullptr ? "" : started;
  if (path.starts_with(kDescriptors)) return {};
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace lagwatch::sdk
