// SPDX-License-Identifier: Apache-2.0
// The one table of what unwinders are known to get wrong, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::unwind_test {

enum class Who { kOurs, kOracle };
inline constexpr size_t kWhoCount = 2;

enum class Kind { kCaller, kMissing, kExtra, kCompleteness, kFunctionStart };

// The first error of an unwinder.
struct Disagreement {
  Who who;
  Kind kind;
  const char* case_name;
  uint64_t pc;        // of the stop
  uint64_t culprit;   // the address whose caller came out wrong: the true frame before the first wrong one
  uint64_t expected;  // the first wrong frame's true address, 0 for none
  uint64_t got;       // what stands there instead, 0 for none
  uint32_t depth;     // of the first wrong frame
  bool has_frame;     // the stop's function has set up a frame pointer
  bool lacks_index;   // a module of the stack has no .eh_frame_hdr
};

// The reason for a known disagreement; null for an unknown one. `stop` and `culprit` are the names of the
// functions at those addresses, or MODULE+offset.
const char* ReasonFor(const Disagreement& disagreement, std::string_view stop, std::string_view culprit);

}  // namespace lagwatch::unwind_test
