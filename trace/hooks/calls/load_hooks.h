// SPDX-License-Identifier: Apache-2.0
// The hook of dlopen, which uses its caller's search path. So the hook jumps to the real function with the
// original caller wherever that may matter; only a library named by its path is opened, and timed, from
// here. Context: hot.
#pragma once

#include <cstdint>

#include "trace/hooks/frame_pointer_walk.h"

// The hook, written in assembler: asks LagwatchLoadTarget with the same arguments, which stay as they are,
// and jumps there.
extern "C" void LagwatchLoadHook();
// The function for dlopen(file, mode): TimedLoad or the real one.
extern "C" void* LagwatchLoadTarget(const char* file, int mode);
