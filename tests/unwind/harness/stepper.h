// SPDX-License-Identifier: Apache-2.0
// Single-steps this very thread by the processor's trap flag, and compares what unwinders say at each
// instruction. Not thread-safe: one thread at a time.
#pragma once

namespace lagwatch::unwind_test {

// Takes SIGTRAP, and calls once what the loader and libgcc would set up lazily.
void InstallStepper();

// From the return on, each instruction is a stop, until EndSteps(), which the function that called this must
// call before it returns. A signal handler that interrupts may begin steps of its own. Without
// InstallStepper() both do nothing.
void BeginSteps(const char* case_name);
void EndSteps();

// The number of stops at an address that are compared at most, in all; further ones are only followed.
inline constexpr int kVisitsPerAddress = 2;

// Prints the account; whether everything was as it must be.
bool ReportSteps(const char* program);

}  // namespace lagwatch::unwind_test
