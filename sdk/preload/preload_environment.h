// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sdk/preload/preload_config.h"

namespace lagwatch::sdk {

// Makes the environment what it was before `lagwatch` added its variables. Before main(), and without the
// functions for it: a program may bring its own, as shells do. Context: background.
void RestoreEnvironment(const PreloadConfig& config);

}  // namespace lagwatch::sdk
