// SPDX-License-Identifier: Apache-2.0
// The recording of a program by `lagwatch trace record`: from before its main() to its end, into an arena
// that the command made and reads.
#pragma once

#include "sdk/preload/preload_config.h"

namespace lagwatch::sdk {

// Does nothing when the arena or the recorder's threads cannot be had: the command sees that nothing is
// recorded. A child that the program forks is not recorded. Context: background.
void StartTraceRecording(const PreloadConfig& config);

// What was recorded stays. Does nothing when there is no recording, and in a forked child. Context:
// background.
void StopTraceRecording();

// The same as StartTraceRecording, from a thread of its own, in a process that runs already. `config_text` is
// PreloadConfig's. 0, or an error number: EBUSY when the process is being recorded. Context: background.
int AttachTraceRecording(const char* config_text);

}  // namespace lagwatch::sdk
