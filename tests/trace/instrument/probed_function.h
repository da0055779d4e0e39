// SPDX-License-Identifier: Apache-2.0
// Marks a function that a test probes: no compiler inlines, clones or foresees it.
#pragma once

#ifdef __clang__
#define PROBED_FUNCTION __attribute__((noinline, optnone))
#else
#define PROBED_FUNCTION __attribute__((noinline, noipa))
#endif
