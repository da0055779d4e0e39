// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// Restores the environment to its state before `lagwatch` added its variables. Before main(), and without the
// functions for it: a program may bring its own, as shells do. Context: background. Returns this library's
// path, as LD_PRELOAD named it.
std::string RestoreEnvironment(const PreloadConfig& config);

// The program's name in reports: as given, else the file name that it was started by, a script's
// for a script.
std::string AppName(const PreloadConfig& config);

}  // namespace lagwatch::sdk
