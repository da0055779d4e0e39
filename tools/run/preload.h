// SPDX-License-Identifier: Apache-2.0
// Preloads the library into a program that the command line starts. Context: background.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::tools {

inline constexpr std::string_view kPreloadLibraryName = "liblagwatch-preload.so";

// A file of lagwatch's own, as built or as installed: in this program's folder, which may be bin/ or that of
// the libraries, or in the folder of the libraries beside it. Empty if it is in neither place.
std::filesystem::path FindOwnFile(const char* name);

// The library that is preloaded; empty as above.
std::filesystem::path FindPreloadLibrary();

// The file that `command` names, when the library can be preloaded into it. Errors: kNotFound, kInvalid.
base::Result<std::string> FindWatchableProgram(const std::string& command);

// The environment of a program that loads the library.
struct PreloadEnvironment {
  std::string preload;
  std::string config;

  // Gives it to programs that are started from now on, behind all other variables: see docs/design/exec.md.
  // Called once.
  void Set() const;
};

// Passes `config` to the library; the present LD_PRELOAD is kept. Errors: kNotFound if the library is not
// beside this program; kInvalid if an option contains a line end.
base::Result<PreloadEnvironment> PreparePreload(sdk::PreloadConfig config);

// Becomes `program`; returns the exit code when that fails, having said why.
int BecomeProgram(const std::string& program, std::vector<std::string> command);

}  // namespace lagwatch::tools
