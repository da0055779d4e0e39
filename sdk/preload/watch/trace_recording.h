// SPDX-License-Identifier: Apache-2.0
// The recording of a program by `lagwatch trace record`: from before its main() to its end, into an arena
// that the command made and reads.
#pragma once

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// False if the arena or the recorder's threads are not available. A child that the program forks is not
// recorded. Context: background.
bool StartTraceRecording(const PreloadConfig& config);

// The recording stays. Does nothing without a recording, and in a forked child. Context: background.
void StopTraceRecording();

// Whether a recording of this process goes on. Context: background.
bool IsTraceRecorded();

}  // namespace lagwatch::sdk
