// SPDX-License-Identifier: Apache-2.0
// dlopen asks who calls it: the caller's own search path counts. So the hook gives it that caller wherever it
// may matter, and leaves the call to a jump; only a library named by its path is opened, timed from
// here. Context: hot.
#pragma once

#include <cstdint>

#include "trace/hooks/own_frame.h"

// The hook, written in assembler: asks LagwatchLoadTarget with the same arguments, which stay as they are,
// and jumps there.
extern "C" void LagwatchLoadHook();
// What dlopen(file, mode) is to be done by: TimedLoad or the real one.
extern "C" void* LagwatchLoadTarget(const char* file, int mode);
