// SPDX-License-Identifier: Apache-2.0
// Skips tests under an emulator of another processor (scripts/test --arm64): system calls and signals are the
// emulator's there, and /proc shows its own threads, registers and memory.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace lagwatch::testing {

// The test preset says so, never the processor: on an arm64 machine nothing is left out.
inline bool IsEmulated() { return std::getenv("LAGWATCH_EMULATED") != nullptr; }

// For CaptureOptions: the capturer's own choice; under emulation, which cannot deliver the highest ones, a
// signal that it can.
inline int CaptureSignal() { return IsEmulated() ? SIGRTMIN + 6 : 0; }

}  // namespace lagwatch::testing

// To be said in a test's body or in a fixture's SetUp(). ctest lists what was skipped.
#define LAGWATCH_SKIP_UNDER_EMULATION(reason) \
  if (::lagwatch::testing::IsEmulated()) GTEST_SKIP() << "under emulation: " << reason
