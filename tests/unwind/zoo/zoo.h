// SPDX-License-Identifier: Apache-2.0
// Functions of many shapes, each built by several compilers with several options.
#pragma once

#include <cstdint>
#include <span>

#include "tests/unwind/harness/blocked_thread.h"

// Keeps a function as it is written: an own frame, called where the source calls it.
#if defined(__clang__)
#define ZOO_SHAPE [[gnu::noinline]]
#else
#define ZOO_SHAPE [[gnu::noinline, gnu::noclone]]
#endif

namespace lagwatch::unwind_test {

struct ZooCase {
  const char* name;
  void (*body)();
};

// Code that the compiler makes of plain sources: frames, calls, jumps.
std::span<const ZooCase> FrameCases();
// Code that others call: libc's and libstdc++'s callbacks, exceptions, the loader.
std::span<const ZooCase> CallbackCases();
// Code that involves the kernel: signals, clocks, coroutines.
std::span<const ZooCase> ContextCases();
// Assembly and code made at run time.
std::span<const ZooCase> CasesWithoutTables();

std::span<const BlockingCall> BlockingCalls();
// The first function of a thread that waits in the BlockingCall at `call`.
void* RunBlockingCall(void* call);

// Results are stored here, so that no call is a tail call unless it means to be one, or is left out.
inline volatile uint64_t g_zoo_sink;
inline void Consume(uint64_t value) { g_zoo_sink = g_zoo_sink + value; }

}  // namespace lagwatch::unwind_test
