// SPDX-License-Identifier: Apache-2.0
// The one place that says which unwinder the tests of this folder are about.
#pragma once

#include <memory>

#include "stack/elf/frame_section_file.h"
#include "stack/unwind/table_unwinder.h"

namespace lagwatch::unwind_test {

inline std::unique_ptr<stack::Unwinder> CreateUnwinderUnderTest() {
  return stack::CreateTableUnwinder(stack::FrameSectionLoader::FromModuleFiles()).value();
}

// Whether the unwinder under test is the oracle itself, and so is forgiven the oracle's known faults and
// limits: those in harness/known_faults.cc, and blocked threads with callers that keep frame pointers, whose
// stacks it leaves incomplete.
inline constexpr bool kOracleIsUnderTest = false;

}  // namespace lagwatch::unwind_test
