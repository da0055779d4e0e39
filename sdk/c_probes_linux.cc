// SPDX-License-Identifier: Apache-2.0
// The C ABI's part of probes: forbidding them.
#include <dlfcn.h>
#include <lagwatch/c.h>
#include <link.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/process/loader_walk.h"
#include "sdk/c_guarded.h"
#include "sdk/probe/forbidden_mark.h"

namespace {

// The names under which the library of `lagwatch run` and `lagwatch probe` may be loaded: its own, or that of
// a file in memory.
std::vector<std::string> ProbingLibraries() {
  std::vector<std::string> names;
  const auto add = [](dl_phdr_info* info, size_t, void* context) {
    const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    if (name.find("liblagwatch-preload") != std::string_view::npos ||
        name.find("liblagwatch_jvm") != std::string_view::npos || name.starts_with("/proc/self/fd/"))
      static_cast<std::vector<std::string>*>(context)->emplace_back(name);
    return 0;
  };
  lagwatch::base::WalkLoadedModules(add, &names);
  return names;
}

void TellLibraries() {
  for (const std::string& name : ProbingLibraries()) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (auto* const forbid = reinterpret_cast<void (*)()>(dlsym(library, "lagwatch_forbid_probes"))) forbid();
    dlclose(library);
  }
}

}  // namespace

extern "C" {

int lw_forbid_probes(void) noexcept {
  return lagwatch::sdk::Guarded(0, [] {
    const bool is_marked = lagwatch::sdk::MakeForbiddenMark();
    TellLibraries();
    return is_marked ? 1 : 0;
  });
}

}  // extern "C"
