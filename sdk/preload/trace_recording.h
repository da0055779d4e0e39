// SPDX-License-Identifier: Apache-2.0
// The recording of a program by `lagwatch trace record`: from before its main() to its end, into an arena
// that the command made and reads.
#pragma once

#include <string>

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// Does nothing if the arena or the recorder's threads are not available: the command sees that nothing is
// recorded. A child that the program forks is not recorded. Context: background.
void StartTraceRecording(const PreloadConfig& config);

// The recording stays. Does nothing without a recording, and in a forked child. Context: background.
void StopTraceRecording();

// The same in a process that runs already. `config_text` is PreloadConfig's. Returns why not; empty if it has
// begun. Context: background, a thread that is not the program's.
std::string AttachTraceRecording(const char* config_text);

// Whether a recording of this process goes on. Context: background.
bool IsTraceRecorded();

}  // namespace lagwatch::sdk
