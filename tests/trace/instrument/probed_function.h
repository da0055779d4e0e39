// SPDX-License-Identifier: Apache-2.0
// Marks a function that a test probes: no compiler inlines, clones or foresees it, and no sanitizer gives it
// code that reads its return address.
#pragma once

#ifdef __clang__
#define PROBED_FUNCTION __attribute__((noinline, optnone, disable_sanitizer_instrumentation))
#else
#define PROBED_FUNCTION __attribute__((noinline, noipa, no_sanitize("thread", "address", "undefined")))
#endif
